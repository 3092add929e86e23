/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "supervisor/digest.h"

#include "base/fd.h"
#include "base/sha256.h"

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size)
{
    struct sha256 hash;

    sha256_begin(&hash);
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, digest);
}

int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err)
{
    uint8_t buffer[65536];
    struct sha256 hash;
    ssize_t count = 1;

    sha256_begin(&hash);
    for (uint64_t offset = 0; count > 0; offset += (uint64_t)count) {
        count = fd_pread_all(fd, buffer, sizeof(buffer), offset);
        if (count < 0)
            return err_sys(err, "cannot read it to compute its SHA-256");
        sha256_add(&hash, buffer, (size_t)count);
    }
    sha256_end(&hash, digest);
    return 0;
}
