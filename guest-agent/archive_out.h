/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_out.h: writes an archive (wire/archive.h) to a disk of fixed size, in large aligned
 * blocks.
 *
 * A part of the disk at its end is kept for what must always fit: the END record, and records of
 * what was skipped, so that a full disk still says what is missing. Failures are kept in `error`;
 * after one, nothing more is written.
 */
#ifndef AGENT_ARCHIVE_OUT_H
#define AGENT_ARCHIVE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/archive.h"

enum {
    ARCHIVE_OUT_BLOCK_BYTES = 1 << 20,
    /* Room behind a block, so that a record never has to be split; longest extent is larger. */
    ARCHIVE_OUT_SLACK_BYTES = 256 << 10,
    ARCHIVE_OUT_RESERVE_BYTES = 64 << 10,
    ARCHIVE_OUT_ALIGN_BYTES = 4096,
    /* An extent of N bytes takes at most N / this + 1 records. */
    ARCHIVE_OUT_EXTENT_BYTES = ARCHIVE_OUT_SLACK_BYTES - ARCHIVE_RECORD_BYTES,
};

struct archive_out {
    int fd;
    uint64_t limit;   /* size of the disk */
    uint64_t written; /* bytes that left the buffer */
    size_t used;      /* bytes in the buffer */
    uint64_t records;
    int error; /* errno; ENOSPC: the disk cannot even hold what was skipped */
    uint8_t *buffer;
};

/* Begin an archive on FD, LIMIT bytes long. There is one buffer, so one archive at a time. */
void archive_out_begin(struct archive_out *out, int fd, uint64_t limit);

/* Bytes that DIR, FILE and EXTENT records may still take. */
uint64_t archive_out_room(const struct archive_out *out);

/* Records with a name; the caller has looked at the room for DIR and FILE. */
void archive_out_dir(struct archive_out *out, const char *name, uint32_t mode);
void archive_out_file(struct archive_out *out, const char *name, uint32_t mode, uint64_t size);

/* A name that is too long for a record is cut. */
void archive_out_skipped(struct archive_out *out, const char *name, enum archive_skip reason);

/*
 * Where the data of the next extent goes: *SIZE bytes at the result, at least
 * ARCHIVE_OUT_EXTENT_BYTES. archive_out_extent() then makes SIZE bytes of it an extent at OFFSET.
 */
uint8_t *archive_out_extent_data(struct archive_out *out, size_t *size);
void archive_out_extent(struct archive_out *out, uint64_t offset, size_t size);

/* END, and everything to the disk. Returns the length of the archive; `error` says the rest. */
uint64_t archive_out_end(struct archive_out *out);

#endif
