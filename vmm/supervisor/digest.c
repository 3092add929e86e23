/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "supervisor/digest.h"

#include "base/fd.h"

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size)
{
    struct sha256 hash;

    sha256_begin(&hash);
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, digest);
}

void digest_begin(struct digest_work *work, int fd)
{
    *work = (struct digest_work){.going_on = true, .fd = fd};
    sha256_begin(&work->hash);
}

/* Returns as digest_go_on() does. */
static int digest_read(struct digest_work *work, uint64_t max_bytes, struct err *err)
{
    uint8_t buffer[65536];

    for (uint64_t done = 0; done < max_bytes;) {
        ssize_t count = fd_pread_all(work->fd, buffer, sizeof(buffer), work->offset);

        if (count < 0)
            return err_sys(err, "cannot read it to compute its SHA-256");
        if (count == 0)
            return 0;
        sha256_add(&work->hash, buffer, (size_t)count);
        done += (uint64_t)count;
        work->offset += (uint64_t)count;
    }
    return 1;
}

int digest_go_on(
    struct digest_work *work, uint64_t max_bytes, uint8_t digest[DIGEST_BYTES], struct err *err)
{
    int more = digest_read(work, max_bytes, err);

    work->going_on = more > 0;
    if (more == 0)
        sha256_end(&work->hash, digest);
    return more;
}

int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err)
{
    struct digest_work work;

    digest_begin(&work, fd);
    return digest_go_on(&work, UINT64_MAX, digest, err);
}
