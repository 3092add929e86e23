/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.c: see gunzip.h. */
#include "gunzip.h"

#include <string.h>

#include "base/fd.h"
#include "base/num.h"

/* Window bits of inflateInit2(): 15, and 16 for a gzip header and no other. */
enum { GUNZIP_WINDOW = 15 + 16, GZIP_MAGIC_BYTES = 2 };

/* Unread bytes in the buffer, unless the input is at its end. Returns their count or -1. */
static ssize_t gunzip_fill(struct gunzip *gunzip, struct err *err)
{
    ssize_t count;

    if (gunzip->at < gunzip->filled)
        return (ssize_t)(gunzip->filled - gunzip->at);
    count = fd_read_all(gunzip->fd, gunzip->buffer, sizeof(gunzip->buffer));
    if (count < 0)
        return err_sys(err, "cannot read the archive");
    gunzip->at = 0;
    gunzip->filled = (size_t)count;
    return count;
}

int gunzip_begin(struct gunzip *gunzip, int fd, struct err *err)
{
    ssize_t count;

    memset(&gunzip->stream, 0, sizeof(gunzip->stream));
    gunzip->fd = fd;
    gunzip->gzip = gunzip->ended = false;
    gunzip->at = gunzip->filled = 0;
    count = gunzip_fill(gunzip, err);
    if (count < 0)
        return -1;
    if (count < GZIP_MAGIC_BYTES || gunzip->buffer[0] != 0x1f || gunzip->buffer[1] != 0x8b)
        return 0;
    if (inflateInit2(&gunzip->stream, GUNZIP_WINDOW) != Z_OK)
        return err_set(err, "cannot unpack gzip");
    gunzip->gzip = true;
    return 0;
}

void gunzip_end(struct gunzip *gunzip)
{
    if (gunzip->gzip)
        (void)inflateEnd(&gunzip->stream);
    gunzip->gzip = false;
}

static ssize_t gunzip_copy(struct gunzip *gunzip, void *bytes, size_t size, struct err *err)
{
    ssize_t count = gunzip_fill(gunzip, err);

    if (count <= 0)
        return count;
    size = size_min(size, (size_t)count);
    memcpy(bytes, gunzip->buffer + gunzip->at, size);
    gunzip->at += size;
    return (ssize_t)size;
}

/* A member is complete: another may follow, or padding, which is passed over unread. */
static int gunzip_next_member(struct gunzip *gunzip, struct err *err)
{
    ssize_t count = gunzip_fill(gunzip, err);

    if (count < 0)
        return -1;
    if (count == 0 || gunzip->buffer[gunzip->at] != 0x1f) {
        gunzip->ended = true;
        return 0;
    }
    return inflateReset(&gunzip->stream) == Z_OK ? 0 : err_set(err, "cannot unpack gzip");
}

ssize_t gunzip_read(struct gunzip *gunzip, void *bytes, size_t size, struct err *err)
{
    z_stream *stream = &gunzip->stream;

    if (!gunzip->gzip)
        return gunzip_copy(gunzip, bytes, size, err);
    stream->next_out = bytes;
    stream->avail_out = (uInt)size_min(size, GUNZIP_BUFFER_BYTES);
    /* Each turn takes input or ends; members without content are paid for by their bytes. */
    while (!gunzip->ended && stream->next_out == (Bytef *)bytes) {
        ssize_t count = gunzip_fill(gunzip, err);
        int result;

        if (count < 0)
            return -1;
        if (count == 0)
            return err_set(err, "the gzip file is cut short");
        stream->next_in = gunzip->buffer + gunzip->at;
        stream->avail_in = (uInt)count;
        result = inflate(stream, Z_NO_FLUSH);
        gunzip->at = gunzip->filled - stream->avail_in;
        if (result == Z_STREAM_END && gunzip_next_member(gunzip, err) < 0)
            return -1;
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return err_set(err, "the gzip file is damaged%s%s", stream->msg ? ": " : "",
                stream->msg ? stream->msg : "");
    }
    return (ssize_t)(stream->next_out - (Bytef *)bytes);
}
