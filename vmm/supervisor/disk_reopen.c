/* SPDX-License-Identifier: Apache-2.0 */
/* disk_reopen.c: see disk_reopen.h. */
#include "supervisor/disk_reopen.h"

#include <fcntl.h>
#include <stdio.h>

int disk_reopen_readonly(int fd, struct err *err)
{
    char path[32];
    int readonly;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    readonly = open(path, O_RDONLY | O_CLOEXEC);
    if (readonly < 0)
        return err_sys(err, "cannot reopen a disk for reading (is /proc mounted?)");
    return readonly;
}
