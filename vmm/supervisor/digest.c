/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "supervisor/digest.h"

#include <openssl/evp.h>

#include "base/fd.h"

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size)
{
    int ok = EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL);

    must(ok == 1); /* fails only without memory */
}

static int digest_update_file(EVP_MD_CTX *context, int fd, struct err *err)
{
    uint8_t buffer[65536];

    for (uint64_t offset = 0;;) {
        ssize_t count = fd_pread_all(fd, buffer, sizeof(buffer), offset);

        if (count < 0)
            return err_sys(err, "cannot read it to compute its SHA-256");
        if (count == 0)
            return 0;
        int ok = EVP_DigestUpdate(context, buffer, (size_t)count);

        must(ok == 1);
        offset += (uint64_t)count;
    }
}

int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok, failed;

    must(context != NULL);
    ok = EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    must(ok == 1);
    failed = digest_update_file(context, fd, err);
    if (failed == 0)
        ok = EVP_DigestFinal_ex(context, digest, NULL);
    must(ok == 1);
    EVP_MD_CTX_free(context);
    return failed;
}
