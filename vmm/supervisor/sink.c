/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c: see sink.h. */
#include "supervisor/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

/* Pipes and terminals can be waited for; so can few other devices (/dev/null cannot). */
static bool fd_is_pollable(int fd, const struct stat *status)
{
    return S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode) ||
           (S_ISCHR(status->st_mode) && isatty(fd));
}

struct sink sink_open(int fd, int flags)
{
    struct sink sink = {.fd = fd};
    struct stat status;
    char path[32];
    int again;

    if (fstat(fd, &status) < 0)
        return (struct sink)SINK_INIT;
    sink.is_socket = S_ISSOCK(status.st_mode);
    sink.pollable = fd_is_pollable(fd, &status);
    if (!sink.pollable || sink.is_socket)
        return sink;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    sink.owned = again >= 0;
    sink.cautious = again < 0;
    if (again >= 0)
        sink.fd = again;
    return sink;
}

void sink_close(struct sink *sink)
{
    if (sink->owned)
        fd_close(&sink->fd);
    *sink = (struct sink)SINK_INIT;
}

/* On a descriptor that may block: is it ready? Another process can still be faster. */
static bool sink_ready(const struct sink *sink, short events)
{
    struct pollfd wait = {.fd = sink->fd, .events = events};

    if (!sink->cautious || poll(&wait, 1, 0) > 0)
        return true;
    errno = EAGAIN;
    return false;
}

ssize_t sink_read(const struct sink *sink, void *buffer, size_t size)
{
    if (!sink_ready(sink, POLLIN))
        return -1;
    if (sink->is_socket)
        return recv(sink->fd, buffer, size, MSG_DONTWAIT);
    return read(sink->fd, buffer, size);
}

ssize_t sink_write(const struct sink *sink, const void *bytes, size_t size)
{
    if (!sink_ready(sink, POLLOUT))
        return -1;
    if (sink->is_socket)
        return send(sink->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* A pipe that is ready takes this much without blocking (pipe(7)). */
    return write(sink->fd, bytes, sink->cautious ? size_min(size, PIPE_BUF) : size);
}
