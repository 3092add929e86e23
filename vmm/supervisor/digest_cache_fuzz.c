/* SPDX-License-Identifier: Apache-2.0 */
/* digest_cache_fuzz.c: a cache of any bytes; what is put into it is found, and it stays bounded. */
#include <string.h>

#include "supervisor/digest_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[DIGEST_CACHE_MAX_BYTES];
    struct digest_key key = {.device = 1, .inode = 2, .size = 3, .changed_s = 6};
    uint8_t digest[DIGEST_BYTES] = {1}, found[DIGEST_BYTES];
    size_t length;

    (void)digest_cache_find((const char *)data, size, &key, found);
    length = digest_cache_put(text, (const char *)data, size, &key, digest);
    must(length <= sizeof(text));
    must(digest_cache_find(text, length, &key, found));
    must(memcmp(found, digest, DIGEST_BYTES) == 0);
    key.changed_s++;
    must(!digest_cache_find(text, length, &key, found) || size > 0);
    return 0;
}
