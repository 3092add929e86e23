/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_cache.h: digests of large files that were computed before (supervisor; the cache is the
 * user's own file, which anything that runs as the same user may have damaged or planted).
 *
 * $XDG_CACHE_HOME/vmrun/digests, or the same in ~/.cache: a 0600 file in a directory that no one
 * else can write, replaced by rename. What is not as it should be counts as empty. A line:
 *
 *     DEVICE INODE SIZE MTIME CTIME VERITY SHA256
 *
 * Numbers are decimal, times SECONDS.NANOSECONDS, digests hexadecimal; VERITY is "-" without one.
 */
#ifndef VMM_SUPERVISOR_DIGEST_CACHE_H
#define VMM_SUPERVISOR_DIGEST_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/digest.h"

enum {
    DIGEST_CACHE_ENTRIES_MAX = 256,
    DIGEST_CACHE_LINE_BYTES = 320,
    DIGEST_CACHE_MAX_BYTES = DIGEST_CACHE_ENTRIES_MAX * DIGEST_CACHE_LINE_BYTES,
};

/* What a file is known by: a write changes it. */
struct digest_key {
    uint64_t device, inode, size;
    uint64_t modified_s, modified_ns, changed_s, changed_ns;
    bool has_verity; /* the kernel keeps the content to this digest; then it alone counts */
    uint8_t verity[DIGEST_BYTES];
};

/* Pure: look KEY up in the text of a cache. */
bool digest_cache_find(
    const char *text, size_t size, const struct digest_key *key, uint8_t digest[DIGEST_BYTES]);

/*
 * Pure: the text with KEY in front, which replaces what was known of the same file, and drops the
 * oldest when there are too many. TO has DIGEST_CACHE_MAX_BYTES; returns its length.
 */
size_t digest_cache_put(char *to, const char *text, size_t size, const struct digest_key *key,
    const uint8_t digest[DIGEST_BYTES]);

/* The same on the cache of this user. A cache that cannot be used is no error. */
bool digest_cache_get(const struct digest_key *key, uint8_t digest[DIGEST_BYTES]);
void digest_cache_keep(const struct digest_key *key, const uint8_t digest[DIGEST_BYTES]);

#endif
