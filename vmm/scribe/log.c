/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: see log.h. */
#include "scribe/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

enum { LOG_BLOCK_BYTES = 32 * 1024 };

void log_init(struct log *log, int fd, uint64_t cap_bytes)
{
    *log = (struct log){.fd = fd, .cap_bytes = cap_bytes, .head_bytes = cap_bytes - cap_bytes / 4};
}

uint64_t log_kept_bytes(const struct log *log)
{
    return u64_min(log->written_bytes, log->cap_bytes);
}

bool log_is_cut(const struct log *log)
{
    return log->total_bytes > log_kept_bytes(log);
}

uint64_t log_gap_bytes(const struct log *log)
{
    return log->written_bytes > log->cap_bytes ? log->head_bytes : log->written_bytes;
}

/* Where the next byte goes; *ROOM is how many fit there before the place changes. */
static uint64_t log_place(const struct log *log, uint64_t *room)
{
    uint64_t tail = log->cap_bytes - log->head_bytes;
    uint64_t at;

    if (log->written_bytes < log->head_bytes) {
        *room = log->head_bytes - log->written_bytes;
        return log->written_bytes;
    }
    if (tail == 0) {
        *room = 0;
        return log->head_bytes;
    }
    at = (log->written_bytes - log->head_bytes) % tail;
    *room = tail - at;
    return log->head_bytes + at;
}

/* One pwrite: a short one counts for what it wrote. */
static size_t log_write(struct log *log, const uint8_t *bytes, size_t size, uint64_t offset)
{
    ssize_t count;

    do
        count = pwrite(log->fd, bytes, size, (off_t)offset);
    while (count < 0 && errno == EINTR);
    if (count > 0)
        return (size_t)count;
    log->error = count < 0 ? errno : EIO;
    return 0;
}

void log_append(struct log *log, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    uint64_t tail = log->cap_bytes - log->head_bytes;

    must(!log->finished);
    log->total_bytes += size;
    while (size > 0 && log->error == 0) {
        uint64_t room;
        uint64_t offset = log_place(log, &room);
        size_t step = (size_t)u64_min(room, size);

        if (log->written_bytes >= log->cap_bytes && size / 2 >= tail) {
            /* Would be overwritten by what follows it; whole turns of the ring keep its order. */
            step = tail ? (size_t)((size - tail) / tail * tail) : size;
        } else {
            step = log_write(log, from, step, offset);
        }
        from += step;
        size -= step;
        log->written_bytes += step;
    }
}

/* All of SIZE bytes at OFFSET, or an error: nobody else changes the file. */
static bool log_load(struct log *log, void *buffer, size_t size, uint64_t offset)
{
    ssize_t count = fd_pread_all(log->fd, buffer, size, offset);

    if (count == (ssize_t)size)
        return true;
    log->error = count < 0 ? errno : EIO;
    return false;
}

static bool log_store(struct log *log, const void *buffer, size_t size, uint64_t offset)
{
    if (fd_pwrite_all(log->fd, buffer, size, offset) == 0)
        return true;
    log->error = errno;
    return false;
}

static void bytes_reverse(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        uint8_t kept = bytes[i];

        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = kept;
    }
}

/* Reverse SIZE bytes of the file at START: blocks from both ends change places. */
static bool log_reverse(struct log *log, uint64_t start, uint64_t size)
{
    static uint8_t front[LOG_BLOCK_BYTES], back[LOG_BLOCK_BYTES];
    uint64_t end = start + size;

    while (end - start > 1) {
        size_t step = (size_t)u64_min((end - start) / 2, LOG_BLOCK_BYTES);

        if (!log_load(log, front, step, start) || !log_load(log, back, step, end - step))
            return false;
        bytes_reverse(front, step);
        bytes_reverse(back, step);
        if (!log_store(log, back, step, start) || !log_store(log, front, step, end - step))
            return false;
        start += step;
        end -= step;
    }
    return true;
}

/* Turn the ring so that its oldest byte comes first: three reversals need no memory. */
static bool log_turn(struct log *log)
{
    uint64_t tail = log->cap_bytes - log->head_bytes;
    uint64_t oldest;

    if (log->written_bytes <= log->cap_bytes || tail == 0)
        return true;
    oldest = (log->written_bytes - log->head_bytes) % tail;
    if (oldest == 0)
        return true;
    return log_reverse(log, log->head_bytes, oldest) &&
           log_reverse(log, log->head_bytes + oldest, tail - oldest) &&
           log_reverse(log, log->head_bytes, tail);
}

/*
 * The digest is made of the finished file: while the task writes, hashing would be most of what it
 * waits for, and a stream that is cut needs the hash of what was kept only.
 */
void log_finish(struct log *log, uint8_t digest[LOG_DIGEST_BYTES])
{
    static uint8_t block[LOG_BLOCK_BYTES];
    struct sha256 hash;
    bool whole = log_turn(log);

    must(!log->finished);
    log->finished = true;
    sha256_begin(&hash);
    for (uint64_t at = 0; whole && at < log_kept_bytes(log);) {
        size_t step = (size_t)u64_min(log_kept_bytes(log) - at, sizeof(block));

        whole = log_load(log, block, step, at);
        sha256_add(&hash, block, whole ? step : 0);
        at += step;
    }
    sha256_end(&hash, digest);
    if (!whole)
        memset(digest, 0, LOG_DIGEST_BYTES); /* `error` says why */
}

size_t log_read(struct log *log, uint64_t *position, void *buffer, size_t size)
{
    bool ring = log->written_bytes > log->cap_bytes;
    uint64_t tail = log->cap_bytes - log->head_bytes;
    uint64_t end = log_gap_bytes(log); /* of what is there for good */
    uint64_t offset = *position;
    size_t step;

    if (ring && log->finished && *position >= log->head_bytes) {
        if (*position < log->written_bytes - tail)
            *position = log->written_bytes - tail;
        end = log->written_bytes;
        offset = log->cap_bytes - (log->written_bytes - *position);
    }
    if (*position >= end)
        return 0;
    step = (size_t)u64_min(end - *position, size);
    if (!log_load(log, buffer, step, offset))
        return 0;
    *position += step;
    return step;
}
