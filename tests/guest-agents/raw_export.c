/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_export.c: the agent of a guest that was taken over: instead of what guest-agent/export.c
 * makes of the task's files, it writes the bytes of /task/raw to the export disk as they are, and
 * says that it exported. Everything else is the agent's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../guest-agent/export.h"
#include "base/fd.h"
#include "base/num.h"

enum { RAW_BLOCK_BYTES = 1 << 20 };

static int raw_copy(int from, int to, uint64_t limit, uint64_t *copied)
{
    static uint8_t block[RAW_BLOCK_BYTES];

    while (*copied < limit) {
        size_t want = (size_t)u64_min(limit - *copied, sizeof(block));
        ssize_t count = fd_read_all(from, block, want);

        if (count <= 0)
            return count < 0 ? errno : 0;
        if (fd_pwrite_all(to, block, (size_t)count, *copied) < 0)
            return errno;
        *copied += (uint64_t)count;
    }
    return 0;
}

void export_run(int root_fd, const char *const *patterns, size_t pattern_count,
    const struct export_caps *caps, int disk_fd, uint64_t disk_bytes,
    struct wire_exported *exported)
{
    AUTO_FD int raw = openat(root_fd, "raw", O_RDONLY | O_CLOEXEC);
    int error;

    (void)patterns, (void)pattern_count, (void)caps;
    must(raw >= 0 && fcntl(disk_fd, F_SETFL, 0) == 0); /* not O_DIRECT: any length will do */
    error = raw_copy(raw, disk_fd, disk_bytes, &exported->archive_bytes);
    if (!error && fsync(disk_fd) < 0)
        error = errno;
    exported->error = (uint32_t)error;
}
