/* SPDX-License-Identifier: Apache-2.0 */
/* small_file.c: see small_file.h. Input: the guest kernel's, trusted. */
#include "small_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int small_file_write(int dir_fd, const char *path, const char *text, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "cannot open %s", path);
    if (write(fd, text, strlen(text)) < 0)
        return err_sys(err, "cannot write \"%s\" to %s", text, path);
    return 0;
}

int small_file_read(int dir_fd, const char *path, char *text, size_t size, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t count;

    if (fd < 0)
        return err_sys(err, "cannot open %s", path);
    count = fd_read_all(fd, text, size - 1);
    if (count < 0)
        return err_sys(err, "cannot read %s", path);
    text[count] = '\0';
    return 0;
}
