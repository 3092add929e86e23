/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h: the format of the import and the export disk. Written by the supervisor and read by
 * the agent (import); written by the agent and read by the extractor (export), for which every byte
 * is hostile. One pass, length-prefixed, no back references. No I/O and no allocation here.
 *
 * The disk begins with the archive header (16 bytes):
 *
 *     0  u8[8]  "VMRARCH1"
 *     8  u64    zero
 *
 * Then records. Each has a header of 32 bytes, then NAME_BYTES of name, then (EXTENT) SIZE bytes of
 * data; nothing is padded:
 *
 *     0  u32  kind        enum archive_kind
 *     4  u32  name_bytes  DIR, FILE, SKIPPED: 1 to ARCHIVE_NAME_MAX_BYTES; EXTENT, END: 0
 *     8  u32  mode        DIR, FILE: permission bits (07777); SKIPPED: enum archive_skip; else 0
 *    12  u32  zero
 *    16  u64  size        FILE: logical size; EXTENT: data bytes; END: number of records before it
 *    24  u64  offset      EXTENT: where in the file the data goes; else 0
 *
 * A name is a relative path, components separated by one '/', bytes otherwise free: the reader
 * judges them. A DIR comes before what is in it. A FILE is followed by its EXTENTs, which ascend,
 * do not overlap and lie inside the size; what no extent covers is a hole. A SKIPPED record of the
 * same name right behind them takes the file back: it could not be read to its end. END closes the
 * archive; what follows on the disk means nothing.
 */
#ifndef VMM_WIRE_ARCHIVE_H
#define VMM_WIRE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    ARCHIVE_HEADER_BYTES = 16,
    ARCHIVE_RECORD_BYTES = 32,
    ARCHIVE_NAME_MAX_BYTES = 4096,
};

#define ARCHIVE_MAGIC "VMRARCH1"

enum archive_kind {
    ARCHIVE_DIR = 1,
    ARCHIVE_FILE = 2,
    ARCHIVE_EXTENT = 3,
    ARCHIVE_SKIPPED = 4, /* export only: what was declared but is not exported, and why */
    ARCHIVE_END = 5,
};

enum archive_skip {
    ARCHIVE_SKIP_MISSING = 1, /* a declared path that does not exist */
    ARCHIVE_SKIP_SYMLINK = 2,
    ARCHIVE_SKIP_FIFO = 3,
    ARCHIVE_SKIP_SOCKET = 4,
    ARCHIVE_SKIP_DEVICE = 5,
    ARCHIVE_SKIP_UNREADABLE = 6, /* an I/O error */
    ARCHIVE_SKIP_TOO_DEEP = 7,
    ARCHIVE_SKIP_TOO_LONG = 8, /* the path does not fit a record */
    ARCHIVE_SKIP_NO_SPACE = 9, /* the export disk (the quota) is full */
    ARCHIVE_SKIP_FILE_TOO_BIG = 10,
    ARCHIVE_SKIP_TOTAL_TOO_BIG = 11,
    ARCHIVE_SKIP_TOO_MANY = 12,
    ARCHIVE_SKIP_LAST = ARCHIVE_SKIP_TOO_MANY,
};

struct archive_record {
    uint32_t kind;
    uint32_t name_bytes;
    uint32_t mode; /* or enum archive_skip */
    uint64_t size;
    uint64_t offset;
};

void archive_put_header(uint8_t bytes[ARCHIVE_HEADER_BYTES]);
int archive_get_header(const uint8_t bytes[ARCHIVE_HEADER_BYTES], struct err *err);

void archive_put_record(uint8_t bytes[ARCHIVE_RECORD_BYTES], const struct archive_record *record);

/*
 * Decode and check one record header on its own: known kind, lengths in range, fields zero that
 * must be. Order of records, names and sums are the caller's to check.
 */
int archive_get_record(
    const uint8_t bytes[ARCHIVE_RECORD_BYTES], struct archive_record *record, struct err *err);

/* "symlink", "missing", ...; never NULL. */
const char *archive_skip_text(uint32_t skip);

#endif
