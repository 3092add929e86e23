/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h: an export archive, one item after the other (extractor). Every byte of it is hostile.
 * Pure over a read callback; memory is what the struct holds.
 *
 * The reader checks all rules of archive.h that are about the format: order of records, extents
 * that ascend, do not overlap and lie inside their file and the disk, no NUL in names, the count in
 * END. What a name may be is for names.h. A broken rule is an error with errnum 0; a disk that
 * could not be read is one with an errnum.
 */
#ifndef VMM_EXTRACTOR_READER_H
#define VMM_EXTRACTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/archive.h"

enum { READER_BUFFER_BYTES = 256 * 1024 };

/* The disk. READ fills all of SIZE bytes from OFFSET, which lie inside SIZE_BYTES. */
struct archive_source {
    int (*read)(void *context, void *buffer, size_t size, uint64_t offset, struct err *err);
    void *context;
    uint64_t size_bytes;
};

enum item_kind {
    ITEM_DIR = 1,
    ITEM_FILE = 2, /* its ITEM_DATA follow at once */
    ITEM_DATA = 3, /* bytes of the last file; ascending, holes between them */
    ITEM_SKIPPED = 4,
    ITEM_END = 5, /* the archive is whole */
};

/* Pointers are good until the next call. */
struct item {
    enum item_kind kind;
    const uint8_t *name; /* DIR, FILE, SKIPPED: 1 to ARCHIVE_NAME_MAX_BYTES bytes, no NUL */
    size_t name_bytes;
    uint32_t mode;         /* DIR, FILE: at most 07777 */
    uint32_t skip;         /* SKIPPED: enum archive_skip */
    uint64_t size_bytes;   /* FILE: logical size */
    uint64_t offset_bytes; /* DATA: where in the file */
    const uint8_t *data;
    size_t data_bytes;
};

struct archive_reader {
    const struct archive_source *source;
    uint64_t position_bytes; /* of the disk: what the buffer is filled with next */
    size_t at, filled;       /* (at, filled - at) of the buffer is not used yet */
    uint64_t record_count;
    bool in_file; /* extents may follow */
    bool skips_data;
    uint64_t file_bytes;                 /* logical size of the file */
    uint64_t extents_end;                /* where the last extent ended */
    uint64_t extent_offset, extent_left; /* what is left of the current extent */
    uint8_t name[ARCHIVE_NAME_MAX_BYTES];
    uint8_t buffer[READER_BUFFER_BYTES];
};

/* Check that the disk begins with an archive. SOURCE stays the caller's and must live on. */
int archive_reader_init(
    struct archive_reader *reader, const struct archive_source *source, struct err *err);

/* The next item; not to be called after ITEM_END or an error. */
int archive_reader_next(struct archive_reader *reader, struct item *item, struct err *err);

/* After ITEM_FILE: its data is not wanted: it is checked as before, but neither read nor handed
 * out. */
void archive_reader_skip_data(struct archive_reader *reader);

#endif
