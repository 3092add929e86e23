/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.c: opens the agent's streams to the host over vsock (channel.h). The four requests go out
 * together and are then waited for, so that dialling costs one round trip.
 */
#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/fd.h"
#include "wire/wire.h"

enum { DIAL_ATTEMPTS = 3, DIAL_STREAMS = 4, DIAL_WAIT_MS = 10000 };

/* A reserved source port, which tells the host that root dials; another one for each attempt. */
static unsigned dial_source_port(unsigned port, unsigned attempt)
{
    return WIRE_SOURCE_PORT_LIMIT - 1 - port - attempt * 16;
}

/* Returns the socket with the request on its way, or -1. */
static int dial_begin(unsigned port, unsigned attempt, struct err *err)
{
    struct sockaddr_vm from = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY};
    struct sockaddr_vm to = {.svm_family = AF_VSOCK, .svm_cid = WIRE_HOST_CID};
    AUTO_FD int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return err_sys(err, "no vsock in this kernel");
    from.svm_port = dial_source_port(port, attempt);
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
        return err_sys(err, "cannot bind vsock source port %u", from.svm_port);
    to.svm_port = port;
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS) {
        if (errno == ENODEV)
            return err_sys(err, "this machine has no vsock device");
        return err_sys(err, "cannot dial vsock port %u of the host", port);
    }
    return fd_take(&fd);
}

static int dial_wait(int fd, unsigned port, struct err *err)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    socklen_t length = sizeof(int);
    int count, error = 0;

    do
        count = poll(&pollfd, 1, DIAL_WAIT_MS);
    while (count < 0 && errno == EINTR);
    if (count == 0)
        error = ETIMEDOUT;
    else if (count < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
        error = errno;
    if (error == 0)
        return 0;
    errno = error;
    return err_sys(err, "cannot dial vsock port %u of the host", port);
}

static int dial_all(int *const fds[DIAL_STREAMS], unsigned attempt, struct err *err)
{
    for (unsigned i = 0; i < DIAL_STREAMS; i++) {
        *fds[i] = dial_begin(WIRE_PORT_CONTROL + i, attempt, err);
        if (*fds[i] < 0)
            return -1;
    }
    for (unsigned i = 0; i < DIAL_STREAMS; i++) {
        if (dial_wait(*fds[i], WIRE_PORT_CONTROL + i, err) < 0)
            return -1;
    }
    return 0;
}

int channel_open(struct channel *channel, struct err *err)
{
    int *const fds[DIAL_STREAMS] = {
        &channel->control, &channel->stdout_fd, &channel->stderr_fd, &channel->stdin_fd};

    for (unsigned attempt = 0; attempt < DIAL_ATTEMPTS; attempt++) {
        if (dial_all(fds, attempt, err) == 0)
            return 0;
        for (unsigned i = 0; i < DIAL_STREAMS; i++)
            fd_close(fds[i]);
        /* A request that a busy host has not answered may be made again; a refusal is final. */
        if (err->errnum != ETIMEDOUT)
            break;
    }
    return -1;
}
