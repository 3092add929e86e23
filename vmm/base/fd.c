/* SPDX-License-Identifier: Apache-2.0 */
/* fd.c: see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void fd_close(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

ssize_t fd_read_all(int fd, void *buffer, size_t size)
{
    char *bytes = buffer;
    size_t done = 0;

    while (done < size) {
        ssize_t count = read(fd, bytes + done, size - done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

ssize_t fd_pread_all(int fd, void *buffer, size_t size, uint64_t offset)
{
    char *bytes = buffer;
    size_t done = 0;

    while (done < size) {
        ssize_t count = pread(fd, bytes + done, size - done, (off_t)(offset + done));

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

int fd_write_all(int fd, const void *buffer, size_t size)
{
    const char *bytes = buffer;
    size_t done = 0;

    while (done < size) {
        ssize_t count = write(fd, bytes + done, size - done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            errno = EIO; /* a file system of a user's own may answer that, for ever */
        if (count <= 0)
            return -1;
        done += (size_t)count;
    }
    return 0;
}

int fd_pwrite_all(int fd, const void *buffer, size_t size, uint64_t offset)
{
    const char *bytes = buffer;
    size_t done = 0;

    while (done < size) {
        ssize_t count = pwrite(fd, bytes + done, size - done, (off_t)(offset + done));

        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            errno = EIO; /* a file system of a user's own may answer that, for ever */
        if (count <= 0)
            return -1;
        done += (size_t)count;
    }
    return 0;
}

int fd_size(int fd, uint64_t *size, struct err *err)
{
    off_t end = lseek(fd, 0, SEEK_END);

    if (end < 0)
        return err_sys(err, "cannot find the size of fd %d", fd);
    *size = (uint64_t)end;
    return 0;
}

int fd_set_nonblocking(int fd, struct err *err)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(err, "cannot make fd %d non-blocking", fd);
    return 0;
}
