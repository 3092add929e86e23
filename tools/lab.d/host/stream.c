/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on their way: to the caller's streams, to the outer machine, into a bounded memory of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

void tail_add(struct tail *tail, const void *bytes, size_t length)
{
    const size_t room = sizeof(tail->bytes);
    if (length > room) {
        bytes = (const char *)bytes + (length - room);
        length = room;
    }
    if (tail->length + length > room) {
        const size_t drop = tail->length + length - room;
        memmove(tail->bytes, tail->bytes + drop, tail->length - drop);
        tail->length -= drop;
    }
    memcpy(tail->bytes + tail->length, bytes, length);
    tail->length += length;
}

int stream_write(const struct session *session, int fd, const void *bytes, size_t length)
{
    const uint64_t end_ms = session->start_ms + (uint64_t)session->options->timeout_s * 1000;
    const char *at = bytes;
    while (length > 0) {
        const ssize_t n = write(fd, at, length);
        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 1000);
        } else if (errno != EINTR) {
            return errno;
        }
        /* The interval timer of main() interrupts a write that the reader keeps waiting. */
        if (length > 0 && (stop_signal || now_ms() > end_ms))
            return EINTR;
    }
    return 0;
}

static uint8_t *send_room(struct session *session, size_t length)
{
    if (session->send_at == session->send_length)
        session->send_at = session->send_length = 0;
    session->send = realloc(session->send, session->send_length + length);
    if (!session->send) {
        fprintf(stderr, "lab: no memory\n");
        abort();
    }
    uint8_t *room = session->send + session->send_length;
    session->send_length += length;
    return room;
}

void send_frame(struct session *session, enum frame_type type, const void *bytes, size_t length)
{
    uint8_t *room = send_room(session, FRAME_HEADER_BYTES + length);
    frame_header_store(room, type, length);
    if (length > 0)
        memcpy(room + FRAME_HEADER_BYTES, bytes, length);
}

void send_job(struct session *session)
{
    size_t length = 0;
    for (char **string = session->options->job; *string; string++)
        length += strlen(*string) + 1;
    uint8_t *room = send_room(session, FRAME_HEADER_BYTES + length);
    frame_header_store(room, FRAME_JOB, length);
    room += FRAME_HEADER_BYTES;
    for (char **string = session->options->job; *string; string++) {
        memcpy(room, *string, strlen(*string) + 1);
        room += strlen(*string) + 1;
    }
}

void send_now(struct session *session)
{
    uint8_t now_and_seed[NOW_BYTES];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    for (int i = 0; i < 8; i++)
        now_and_seed[i] = (uint8_t)(ns >> (8 * i));
    if (getrandom(now_and_seed + 8, SEED_BYTES, 0) != SEED_BYTES)
        abort(); /* up to 256 bytes are never cut short, random(4) */
    send_frame(session, FRAME_NOW, now_and_seed, sizeof(now_and_seed));
}

void send_some(struct session *session)
{
    const ssize_t n = send(session->channel, session->send + session->send_at,
        session->send_length - session->send_at, MSG_NOSIGNAL);
    /* An error here means that QEMU is gone, which its end of the console socket tells as well. */
    if (n > 0)
        session->send_at += (size_t)n;
}
