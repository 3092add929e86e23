/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c: see order.h. Runs in the supervisor, whose input is a child that is trusted until the
 * gate is open and hostile afterwards, and in the children.
 */
#include "jail/order.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/num.h"

enum {
    ORDER_BYTES = 4 + 4 + 4 + 1 + 4 + JAIL_LIMITS_MAX * 12,
    WORD_BYTES = 5, /* u8 word, u32 number; text follows */
};

/*
 * A child hears with read(2) and says with sendmsg(2), which it needs for other things anyway: each
 * call more would be one more that its filters allow.
 */

int jail_channel(int fds[2], struct err *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return err_sys(err, "cannot create a socket pair");
    return 0;
}

static ssize_t read_packet(int fd, void *bytes, size_t size)
{
    ssize_t count;

    do
        count = read(fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

int jail_send_order(int fd, const struct jail_order *order, struct err *err)
{
    uint8_t bytes[ORDER_BYTES];
    struct writer writer = writer_make(bytes, sizeof(bytes));

    must(order->limit_count <= JAIL_LIMITS_MAX);
    writer_u32(&writer, order->kind);
    writer_u32(&writer, order->uid);
    writer_u32(&writer, order->gid);
    writer_u8(&writer, order->debug);
    writer_u32(&writer, order->limit_count);
    for (uint32_t i = 0; i < order->limit_count; i++) {
        writer_u32(&writer, order->limits[i].resource);
        writer_u64(&writer, order->limits[i].value);
    }
    must(!writer.failed);
    if (send(fd, bytes, writer.used, MSG_NOSIGNAL) != (ssize_t)writer.used)
        return err_sys(err, "cannot send the order for a jail");
    return 0;
}

int jail_receive_order(int fd, struct jail_order *order, struct err *err)
{
    uint8_t bytes[ORDER_BYTES + 1];
    ssize_t count = read_packet(fd, bytes, sizeof(bytes));
    struct reader reader;

    if (count < 0)
        return err_sys(err, "no order for a jail came");
    if (count == 0)
        return err_set(err, "no order for a jail came: the supervisor is gone");
    reader = reader_make(bytes, (size_t)count);
    order->kind = reader_u32(&reader);
    order->uid = reader_u32(&reader);
    order->gid = reader_u32(&reader);
    order->debug = reader_u8(&reader) != 0;
    order->limit_count = reader_u32(&reader);
    if (order->limit_count > JAIL_LIMITS_MAX)
        return err_set(err, "an order for a jail with %u limits", order->limit_count);
    for (uint32_t i = 0; i < order->limit_count; i++) {
        order->limits[i].resource = reader_u32(&reader);
        order->limits[i].value = reader_u64(&reader);
    }
    if (!reader_done(&reader) || order->kind < JAIL_WEAK || order->kind > JAIL_ROOT)
        return err_set(err, "a malformed order for a jail");
    return 0;
}

int jail_say(int fd, enum jail_word word, uint32_t number, const char *text)
{
    uint8_t bytes[sizeof(((struct jail_message *)NULL)->text) + WORD_BYTES];
    struct iovec part = {.iov_base = bytes};
    const struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    size_t length = 0;
    ssize_t count;

    bytes[0] = (uint8_t)word;
    le32_store(bytes + 1, number);
    while (text && text[length] && WORD_BYTES + length < sizeof(bytes) - 1) {
        bytes[WORD_BYTES + length] = (uint8_t)text[length];
        length++;
    }
    part.iov_len = WORD_BYTES + length;
    do
        count = sendmsg(fd, &packet, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    return count == (ssize_t)(WORD_BYTES + length) ? 0 : -1;
}

int jail_hear(int fd, struct jail_message *message, struct err *err)
{
    uint8_t bytes[sizeof(message->text) + WORD_BYTES];
    ssize_t count = read_packet(fd, bytes, sizeof(bytes));

    if (count < 0 && errno == ECONNRESET)
        count = 0; /* it ended with our last word unread */
    if (count < 0)
        return err_sys(err, "cannot hear a child in its jail");
    if (count == 0)
        return 0;
    if (count < WORD_BYTES || count == sizeof(bytes) || bytes[0] < JAIL_CONFINED ||
        bytes[0] > JAIL_REFUSED)
        return err_set(err, "a malformed word about a jail");
    message->word = (enum jail_word)bytes[0];
    message->number = le32_load(bytes + 1);
    memcpy(message->text, bytes + WORD_BYTES, (size_t)count - WORD_BYTES);
    message->text[count - WORD_BYTES] = '\0';
    return 1;
}
