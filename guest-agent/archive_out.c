/* SPDX-License-Identifier: Apache-2.0 */
/* archive_out.c: see archive_out.h. */
#include "archive_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

enum { ARCHIVE_OUT_BUFFER_BYTES = ARCHIVE_OUT_BLOCK_BYTES + ARCHIVE_OUT_SLACK_BYTES };

static uint64_t archive_out_position(const struct archive_out *out)
{
    return out->written + out->used;
}

/* Write full blocks and move what is behind them to the front: the disk sees aligned blocks. */
static void archive_out_flush(struct archive_out *out)
{
    if (out->error) {
        out->used = 0;
        return;
    }
    if (out->used < ARCHIVE_OUT_BLOCK_BYTES)
        return;
    if (fd_pwrite_all(out->fd, out->buffer, ARCHIVE_OUT_BLOCK_BYTES, out->written) < 0) {
        out->error = errno;
        out->used = 0;
        return;
    }
    out->written += ARCHIVE_OUT_BLOCK_BYTES;
    out->used -= ARCHIVE_OUT_BLOCK_BYTES;
    memmove(out->buffer, out->buffer + ARCHIVE_OUT_BLOCK_BYTES, out->used);
}

void archive_out_begin(struct archive_out *out, int fd, uint64_t limit)
{
    /* Aligned, as direct I/O wants it. */
    static _Alignas(ARCHIVE_OUT_ALIGN_BYTES) uint8_t buffer[ARCHIVE_OUT_BUFFER_BYTES];

    *out = (struct archive_out){.fd = fd, .limit = limit, .buffer = buffer};
    if (limit < ARCHIVE_HEADER_BYTES + ARCHIVE_RECORD_BYTES) {
        out->error = ENOSPC;
        return;
    }
    archive_put_header(out->buffer);
    out->used = ARCHIVE_HEADER_BYTES;
}

/* Bytes left when KEPT are set aside. */
static uint64_t archive_out_left(const struct archive_out *out, uint64_t kept)
{
    uint64_t taken = archive_out_position(out) + kept;

    return taken < out->limit ? out->limit - taken : 0;
}

uint64_t archive_out_room(const struct archive_out *out)
{
    uint64_t reserve = u64_min(ARCHIVE_OUT_RESERVE_BYTES, out->limit / 4);

    return archive_out_left(out, reserve + ARCHIVE_RECORD_BYTES);
}

static void archive_out_record(
    struct archive_out *out, const struct archive_record *record, const char *name)
{
    if (out->error)
        return;
    archive_put_record(out->buffer + out->used, record);
    out->used += ARCHIVE_RECORD_BYTES;
    if (record->name_bytes)
        memcpy(out->buffer + out->used, name, record->name_bytes);
    out->used += record->name_bytes;
    out->records++;
    archive_out_flush(out);
}

void archive_out_dir(struct archive_out *out, const char *name, uint32_t mode)
{
    struct archive_record record = {
        .kind = ARCHIVE_DIR, .name_bytes = (uint32_t)strlen(name), .mode = mode};

    archive_out_record(out, &record, name);
}

void archive_out_file(struct archive_out *out, const char *name, uint32_t mode, uint64_t size)
{
    struct archive_record record = {
        .kind = ARCHIVE_FILE, .name_bytes = (uint32_t)strlen(name), .mode = mode, .size = size};

    archive_out_record(out, &record, name);
}

void archive_out_skipped(struct archive_out *out, const char *name, enum archive_skip reason)
{
    struct archive_record record = {.kind = ARCHIVE_SKIPPED, .mode = (uint32_t)reason};

    record.name_bytes = (uint32_t)strnlen(name, ARCHIVE_NAME_MAX_BYTES);
    if (!out->error && archive_out_left(out, ARCHIVE_RECORD_BYTES) <
                           (uint64_t)ARCHIVE_RECORD_BYTES + record.name_bytes)
        out->error = ENOSPC;
    archive_out_record(out, &record, name);
}

uint8_t *archive_out_extent_data(struct archive_out *out, size_t *size)
{
    size_t start = out->used + ARCHIVE_RECORD_BYTES;

    *size = ARCHIVE_OUT_BUFFER_BYTES - start;
    return out->buffer + start;
}

void archive_out_extent(struct archive_out *out, uint64_t offset, size_t size)
{
    struct archive_record record = {.kind = ARCHIVE_EXTENT, .size = size, .offset = offset};

    if (out->error)
        return;
    archive_put_record(out->buffer + out->used, &record);
    out->used += ARCHIVE_RECORD_BYTES + size;
    out->records++;
    archive_out_flush(out);
}

/* The last block, padded with zeroes to what the disk takes, but not beyond its end. */
static void archive_out_flush_last(struct archive_out *out)
{
    size_t size = (size_t)align_up(out->used, ARCHIVE_OUT_ALIGN_BYTES);

    size = (size_t)u64_min(size, out->limit - out->written);
    memset(out->buffer + out->used, 0, size - out->used);
    if (fd_pwrite_all(out->fd, out->buffer, size, out->written) < 0)
        out->error = errno;
}

uint64_t archive_out_end(struct archive_out *out)
{
    struct archive_record record = {.kind = ARCHIVE_END, .size = out->records};
    /* Out of space: the END of what there is fits all the same, it was set aside. */
    int error = out->error == ENOSPC ? ENOSPC : 0;
    bool fits = archive_out_left(out, 0) >= ARCHIVE_RECORD_BYTES;

    if ((out->error && out->error != ENOSPC) || !fits)
        return archive_out_position(out);
    out->error = 0;
    archive_out_record(out, &record, NULL);
    if (!out->error)
        archive_out_flush_last(out);
    if (!out->error && fsync(out->fd) < 0)
        out->error = errno;
    if (!out->error)
        out->error = error;
    return archive_out_position(out);
}
