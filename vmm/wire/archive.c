/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c: codec of the disk archive; see archive.h. Input of the getters is hostile. */
#include "wire/archive.h"

#include <string.h>

#include "base/cursor.h"

void archive_put_header(uint8_t bytes[ARCHIVE_HEADER_BYTES])
{
    memset(bytes, 0, ARCHIVE_HEADER_BYTES);
    memcpy(bytes, ARCHIVE_MAGIC, 8);
}

int archive_get_header(const uint8_t bytes[ARCHIVE_HEADER_BYTES], struct err *err)
{
    uint8_t right[ARCHIVE_HEADER_BYTES];

    archive_put_header(right);
    if (memcmp(bytes, right, sizeof(right)) != 0)
        return err_set(err, "the disk does not begin with an archive");
    return 0;
}

void archive_put_record(uint8_t bytes[ARCHIVE_RECORD_BYTES], const struct archive_record *record)
{
    struct writer writer = writer_make(bytes, ARCHIVE_RECORD_BYTES);

    writer_u32(&writer, record->kind);
    writer_u32(&writer, record->name_bytes);
    writer_u32(&writer, record->mode);
    writer_u32(&writer, 0);
    writer_u64(&writer, record->size);
    writer_u64(&writer, record->offset);
    must(!writer.failed && writer.used == ARCHIVE_RECORD_BYTES);
}

/* Which fields a kind may use; returns the rule that is broken, or NULL. */
static const char *record_broken_rule(const struct archive_record *record, uint32_t zero)
{
    bool named = record->kind == ARCHIVE_DIR || record->kind == ARCHIVE_FILE ||
                 record->kind == ARCHIVE_SKIPPED;

    if (record->kind < ARCHIVE_DIR || record->kind > ARCHIVE_END)
        return "unknown kind";
    if (zero != 0)
        return "reserved field is not zero";
    if (named && (record->name_bytes == 0 || record->name_bytes > ARCHIVE_NAME_MAX_BYTES))
        return "name length is out of range";
    if (!named && record->name_bytes != 0)
        return "a name where none may be";
    if (record->kind != ARCHIVE_EXTENT && record->offset != 0)
        return "an offset where none may be";
    if ((record->kind == ARCHIVE_DIR || record->kind == ARCHIVE_SKIPPED) && record->size != 0)
        return "a size where none may be";
    if ((record->kind == ARCHIVE_DIR || record->kind == ARCHIVE_FILE) && record->mode > 07777)
        return "mode has bits beyond 07777";
    if (record->kind == ARCHIVE_SKIPPED && (record->mode < 1 || record->mode > ARCHIVE_SKIP_LAST))
        return "unknown skip reason";
    if ((record->kind == ARCHIVE_EXTENT || record->kind == ARCHIVE_END) && record->mode != 0)
        return "a mode where none may be";
    if (record->kind == ARCHIVE_EXTENT && record->size == 0)
        return "an empty extent";
    return NULL;
}

int archive_get_record(
    const uint8_t bytes[ARCHIVE_RECORD_BYTES], struct archive_record *record, struct err *err)
{
    struct reader reader = reader_make(bytes, ARCHIVE_RECORD_BYTES);
    const char *rule;
    uint32_t zero;

    record->kind = reader_u32(&reader);
    record->name_bytes = reader_u32(&reader);
    record->mode = reader_u32(&reader);
    zero = reader_u32(&reader);
    record->size = reader_u64(&reader);
    record->offset = reader_u64(&reader);
    must(reader_done(&reader));
    rule = record_broken_rule(record, zero);
    if (rule)
        return err_set(err, "archive record of kind %u: %s", record->kind, rule);
    return 0;
}

const char *archive_skip_text(uint32_t skip)
{
    static const char *const texts[] = {
        [ARCHIVE_SKIP_MISSING] = "missing",
        [ARCHIVE_SKIP_SYMLINK] = "symlink",
        [ARCHIVE_SKIP_FIFO] = "fifo",
        [ARCHIVE_SKIP_SOCKET] = "socket",
        [ARCHIVE_SKIP_DEVICE] = "device",
        [ARCHIVE_SKIP_UNREADABLE] = "unreadable",
        [ARCHIVE_SKIP_TOO_DEEP] = "too_deep",
        [ARCHIVE_SKIP_TOO_LONG] = "name_too_long",
        [ARCHIVE_SKIP_NO_SPACE] = "no_space",
        [ARCHIVE_SKIP_FILE_TOO_BIG] = "file_too_big",
        [ARCHIVE_SKIP_TOTAL_TOO_BIG] = "total_too_big",
        [ARCHIVE_SKIP_TOO_MANY] = "too_many_files",
    };

    return skip >= 1 && skip <= ARCHIVE_SKIP_LAST ? texts[skip] : "unknown";
}
