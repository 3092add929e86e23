/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h: one of vmrun's own standard streams, used without ever blocking (supervisor).
 *
 * O_NONBLOCK belongs to the open file, which vmrun shares with the shell and others, so it must not
 * be set on fd 0, 1 or 2. A pipe or terminal is opened a second time through /proc/self/fd instead.
 */
#ifndef VMM_SUPERVISOR_SINK_H
#define VMM_SUPERVISOR_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sink {
    int fd;
    bool owned; /* opened here */
    bool is_socket;
    bool pollable; /* false: a file, which is always ready */
    bool cautious; /* could not be opened again: poll before every call */
};

#define SINK_INIT                                                                                  \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* FD is 0, 1 or 2; FLAGS O_RDONLY or O_WRONLY. Never fails: at worst it is used as it is. */
struct sink sink_open(int fd, int flags);
void sink_close(struct sink *sink);

/* As read(2) and write(2): never wait, -1 with EAGAIN instead. */
ssize_t sink_read(const struct sink *sink, void *buffer, size_t size);
ssize_t sink_write(const struct sink *sink, const void *bytes, size_t size);

#endif
