/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h: SHA-256 that neither allocates nor fails (all host processes), so that a digest needs
 * no error path and no child reads the configuration files of a library. This is libcrypto's own
 * code, with its fast paths, but not its EVP interface: that one makes some 4800 allocations before
 * the first byte, most of them for a configuration file. OpenSSL 3 marks these functions deprecated
 * in favour of EVP.
 */
#ifndef VMM_BASE_SHA256_H
#define VMM_BASE_SHA256_H

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = SHA256_DIGEST_LENGTH };

/* May be copied: the copy goes on from there. */
struct sha256 {
    SHA256_CTX context;
};

/* The return values are constants in every version: 1. */
static inline void sha256_begin(struct sha256 *hash)
{
    (void)SHA256_Init(&hash->context);
}

static inline void sha256_add(struct sha256 *hash, const void *bytes, size_t size)
{
    (void)SHA256_Update(&hash->context, bytes, size);
}

/* HASH is spent after this; it can begin again. */
static inline void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_BYTES])
{
    (void)SHA256_Final(digest, &hash->context);
}

#endif
