/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one ordered byte stream between the lab's host side (host/) and its outer machine (outer/).
 * It is a virtio-serial port inside and a Unix socket outside. Everything travels as frames, so
 * that the frame that carries the exit status cannot overtake output that was written before it.
 * Input on both sides is the lab's own; a length past the limit still ends the lab.
 */
#ifndef LAB_CHANNEL_H
#define LAB_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_HEADER_BYTES = 8,         /* type, three zero bytes, length as little-endian 32 bit */
    FRAME_PAYLOAD_BYTES = 32 << 10, /* the most a frame carries, the job excepted */
    SEED_BYTES = 64,                /* fresh randomness, as a saved machine's own is old */
    NOW_BYTES = 8 + SEED_BYTES, /* nanoseconds since 1970 as little-endian 64 bit, then the seed */
    JOB_BYTES_MAX = 4 << 20,    /* past what Linux takes as arguments and environment */
};

enum frame_type {
    /* outer machine to host */
    FRAME_READY = 'R',   /* devices work, nothing is mounted: the state that is saved */
    FRAME_ASK = 'A',     /* the job is read: what time is it? */
    FRAME_STARTED = 'S', /* the command's process exists */
    FRAME_OUT = 'O',     /* bytes of the command's stdout */
    FRAME_ERR = 'E',     /* bytes of the command's stderr */
    FRAME_WANT = 'W',    /* room for one FRAME_STDIN: stdin never blocks the channel */
    FRAME_BEAT = 'H',    /* once a second: uptime and load, as text */
    FRAME_REPORT = 'P',  /* the answer to FRAME_QUERY, text; an empty one ends it */
    FRAME_FAILED = 'F',  /* the outer machine could not be set up: text */
    FRAME_EXIT = 'X',    /* one byte: the command's exit status; the last frame */
    /* host to outer machine */
    FRAME_JOB = 'J',   /* NUL-terminated key=value strings, see outer/job.h */
    FRAME_NOW = 'N',   /* the answer to FRAME_ASK, NOW_BYTES long */
    FRAME_STDIN = 'I', /* bytes for the command's stdin; an empty one is its end */
    FRAME_QUERY = 'Q', /* list the processes and write the tree back to the host */
};

static inline void frame_header_store(uint8_t *to, enum frame_type type, size_t bytes)
{
    to[0] = (uint8_t)type;
    to[1] = to[2] = to[3] = 0;
    for (int i = 0; i < 4; i++)
        to[4 + i] = (uint8_t)(bytes >> (8 * i));
}

static inline size_t frame_header_length(const uint8_t *from)
{
    return (size_t)from[4] | (size_t)from[5] << 8 | (size_t)from[6] << 16 | (size_t)from[7] << 24;
}

#endif
