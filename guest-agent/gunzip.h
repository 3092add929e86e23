/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gunzip.h: the bytes of a stream, unpacked when they are gzip (RFC 1952) and as they are when not
 * (guest agent, in the process of unpack_child.c; every byte is hostile). zlib does the work, in a
 * process that has nothing to lose; memory is zlib's window and no more.
 */
#ifndef AGENT_GUNZIP_H
#define AGENT_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

#include "base/err.h"

enum { GUNZIP_BUFFER_BYTES = 64 << 10 };

struct gunzip {
    int fd;
    bool gzip;
    bool ended; /* the last member of the gzip file is complete */
    z_stream stream;
    size_t at, filled; /* of the buffer */
    uint8_t buffer[GUNZIP_BUFFER_BYTES];
};

/* Look at the first bytes of FD. GUNZIP is to be ended in both cases. */
int gunzip_begin(struct gunzip *gunzip, int fd, struct err *err);
void gunzip_end(struct gunzip *gunzip);

/* Up to SIZE bytes; the count, 0 at the end, -1 with an error. */
ssize_t gunzip_read(struct gunzip *gunzip, void *bytes, size_t size, struct err *err);

#endif
