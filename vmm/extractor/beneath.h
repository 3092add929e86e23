/* SPDX-License-Identifier: Apache-2.0 */
/* beneath.h: the one way in which the extractor opens anything; another is not in its powers. */
#ifndef VMM_EXTRACTOR_BENEATH_H
#define VMM_EXTRACTOR_BENEATH_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* PATH beneath DIR_FD; no link is followed and no mount is crossed. -1 with errno. */
static inline int open_beneath(int dir_fd, const char *path, uint64_t flags, uint64_t mode)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC | O_NOFOLLOW,
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

#endif
