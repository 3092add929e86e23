/* SPDX-License-Identifier: Apache-2.0 */
/* channel.c: see channel.h. Input: the host's, trusted. */
#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#include "wire/wire.h"

/* True when the call that failed is to be repeated, after waiting for EVENTS if it must be. */
static bool channel_retry(int fd, short events)
{
    struct pollfd pollfd = {.fd = fd, .events = events};

    if (errno == EINTR)
        return true;
    if (errno != EAGAIN)
        return false;
    return poll(&pollfd, 1, -1) >= 0 || errno == EINTR;
}

int channel_send(
    const struct channel *channel, const uint8_t *message, size_t size, struct err *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t count = write(channel->control, message + done, size - done);

        if (count < 0 && !channel_retry(channel->control, POLLOUT))
            return err_sys(err, "cannot send to the host");
        if (count > 0)
            done += (size_t)count;
    }
    return 0;
}

static int channel_receive(
    const struct channel *channel, uint8_t *bytes, size_t size, struct err *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t count = read(channel->control, bytes + done, size - done);

        if (count == 0)
            return err_set(err, "the host closed the control stream");
        if (count < 0 && !channel_retry(channel->control, POLLIN))
            return err_sys(err, "cannot receive from the host");
        if (count > 0)
            done += (size_t)count;
    }
    return 0;
}

int channel_receive_job(
    const struct channel *channel, uint8_t *bytes, size_t *size, struct err *err)
{
    uint8_t raw_header[WIRE_HEADER_BYTES];
    struct wire_header header;

    if (channel_receive(channel, raw_header, sizeof(raw_header), err) < 0)
        return -1;
    if (wire_get_header(raw_header, WIRE_JOB_MAX_BYTES, &header, err) < 0)
        return -1;
    if (header.type != WIRE_JOB)
        return err_set(err, "the host sent message type %u where the job was due", header.type);
    if (channel_receive(channel, bytes, header.length, err) < 0)
        return err_wrap(err, "the job");
    *size = header.length;
    return 0;
}
