/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c: records over a SOCK_SEQPACKET pair; see ipc.h. The packet is u32 kind, then the payload.
 * The codecs of the records are in record.c.
 */
#include "ipc/ipc.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/num.h"
#include "ipc/record.h"

int ipc_channel(int fds[2], struct err *err)
{
    static const int bytes = IPC_CHANNEL_BYTES;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return err_sys(err, "cannot create a socket pair");
    /* The host's own default may be any number; one that is less than this is as good. */
    for (int i = 0; i < 2; i++)
        (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    return 0;
}

int ipc_send(int fd, enum ipc_kind kind, const uint8_t *payload, size_t size, struct err *err)
{
    uint8_t head[4];
    struct iovec parts[2] = {{.iov_base = head, .iov_len = sizeof(head)}, {.iov_len = size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
    ssize_t count;

    must(size <= IPC_RECORD_MAX_BYTES);
    le32_store(head, (uint32_t)kind);
    memcpy(&parts[1].iov_base, &payload, sizeof(payload)); /* iov_base is not const */
    do
        count = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return err_sys(err, "cannot send record %u", (unsigned)kind);
    return 0;
}

static bool kind_is_known(uint32_t kind)
{
    return (kind >= IPC_MACHINE && kind <= IPC_PROBE) ||
           (kind >= IPC_RUNNING && kind <= IPC_PROBED) || kind == IPC_SCRIBE ||
           kind == IPC_STREAM || (kind >= IPC_EXTRACT && kind <= IPC_EXTRACTED);
}

/*
 * Nothing was received: by the end of the other side, which stays, or in a record of no bytes? Two
 * of those in a row look like an end. A child may as well close its side, with the same effect, and
 * what could tell the two apart (poll) is not in the jails that receive.
 */
static bool ipc_is_closed(int fd)
{
    uint8_t byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    return recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int ipc_receive(int fd, struct ipc_record *record, struct err *err)
{
    uint8_t head[4];
    struct iovec parts[2] = {{.iov_base = head, .iov_len = sizeof(head)},
        {.iov_base = record->payload, .iov_len = sizeof(record->payload)}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t count;

    do
        count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count == 0 && !ipc_is_closed(fd))
        return err_set(err, "an empty record");
    /* ECONNRESET: it went away with a record of ours unread. */
    if (count == 0 || (count < 0 && errno == ECONNRESET))
        return 0;
    if (count < 0)
        return err_sys(err, "cannot receive a record");
    if (count < (ssize_t)sizeof(head) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return err_set(err, "a record has a wrong length or carries descriptors");
    if (!kind_is_known(le32_load(head)))
        return err_set(err, "a record of unknown kind %u", le32_load(head));
    record->kind = (enum ipc_kind)le32_load(head);
    record->size = (size_t)count - sizeof(head);
    return 1;
}

int ipc_send_plain(int fd, enum ipc_kind kind, struct err *err)
{
    must(kind == IPC_CANCEL || kind == IPC_HALT || kind == IPC_PROBE);
    return ipc_send(fd, kind, NULL, 0, err);
}

int ipc_send_wire(int fd, enum ipc_kind kind, const uint8_t *payload, size_t size, struct err *err)
{
    must(kind == IPC_HELLO || kind == IPC_STARTED || kind == IPC_EXITED || kind == IPC_EXPORTED);
    return ipc_send(fd, kind, payload, size, err);
}
