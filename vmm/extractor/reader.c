/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: see reader.h. Input is the disk that the guest wrote: hostile. */
#include "extractor/reader.h"

#include <string.h>

#include "base/num.h"

/* Bytes of the disk that are not used yet. */
static uint64_t reader_left(const struct archive_reader *reader)
{
    return reader->filled - reader->at + (reader->source->size_bytes - reader->position_bytes);
}

/* Make at least one and at best SIZE bytes ready in the buffer; the caller knows they are there. */
static int reader_fill(struct archive_reader *reader, size_t size, struct err *err)
{
    size_t have = reader->filled - reader->at;
    size_t step;

    must(size <= reader_left(reader) && size <= sizeof(reader->buffer));
    if (have >= size)
        return 0;
    memmove(reader->buffer, reader->buffer + reader->at, have);
    reader->at = 0;
    reader->filled = have;
    step = (size_t)u64_min(
        sizeof(reader->buffer) - have, reader->source->size_bytes - reader->position_bytes);
    if (reader->source->read(
            reader->source->context, reader->buffer + have, step, reader->position_bytes, err) < 0)
        return -1;
    reader->filled += step;
    reader->position_bytes += step;
    return 0;
}

/* Copy the next SIZE bytes out. */
static int reader_take(struct archive_reader *reader, void *to, size_t size, struct err *err)
{
    if (size > reader_left(reader))
        return err_set(err, "the disk ends before its archive does (record %llu)",
            (unsigned long long)reader->record_count + 1);
    if (reader_fill(reader, size, err) < 0)
        return -1;
    memcpy(to, reader->buffer + reader->at, size);
    reader->at += size;
    return 0;
}

int archive_reader_init(
    struct archive_reader *reader, const struct archive_source *source, struct err *err)
{
    uint8_t header[ARCHIVE_HEADER_BYTES];

    reader->source = source;
    reader->position_bytes = 0;
    reader->at = reader->filled = 0;
    reader->record_count = 0;
    reader->in_file = false;
    reader->extent_left = 0;
    if (reader_take(reader, header, sizeof(header), err) < 0)
        return -1;
    return archive_get_header(header, err);
}

void archive_reader_skip_data(struct archive_reader *reader)
{
    must(reader->in_file && reader->extents_end == 0);
    reader->skips_data = true;
}

/* Pass over SIZE bytes that are known to be on the disk. */
static void reader_pass(struct archive_reader *reader, uint64_t size)
{
    uint64_t buffered = u64_min(size, reader->filled - reader->at);

    reader->at += (size_t)buffered;
    reader->position_bytes += size - buffered;
}

static int reader_extent(
    struct archive_reader *reader, const struct archive_record *record, struct err *err)
{
    unsigned long long number = reader->record_count;

    if (!reader->in_file)
        return err_set(err, "record %llu is an extent that follows no file", number);
    if (record->offset < reader->extents_end)
        return err_set(err, "record %llu is an extent that overlaps or goes back", number);
    if (!range_within(record->offset, record->size, reader->file_bytes))
        return err_set(err, "record %llu is an extent past the end of its file", number);
    if (record->size > reader_left(reader))
        return err_set(err, "record %llu is an extent past the end of the disk", number);
    reader->extents_end = record->offset + record->size;
    if (reader->skips_data) {
        reader_pass(reader, record->size);
        return 0;
    }
    reader->extent_offset = record->offset;
    reader->extent_left = record->size;
    return 0;
}

static int reader_named(struct archive_reader *reader, const struct archive_record *record,
    struct item *item, struct err *err)
{
    if (reader_take(reader, reader->name, record->name_bytes, err) < 0)
        return -1;
    if (memchr(reader->name, '\0', record->name_bytes))
        return err_set(err, "record %llu has a name with a NUL byte",
            (unsigned long long)reader->record_count);
    *item = (struct item){.name = reader->name, .name_bytes = record->name_bytes};
    reader->in_file = record->kind == ARCHIVE_FILE;
    if (record->kind == ARCHIVE_SKIPPED) {
        item->kind = ITEM_SKIPPED;
        item->skip = record->mode;
        return 0;
    }
    item->kind = record->kind == ARCHIVE_DIR ? ITEM_DIR : ITEM_FILE;
    item->mode = record->mode;
    item->size_bytes = record->size;
    reader->skips_data = false;
    reader->file_bytes = record->size;
    reader->extents_end = 0;
    return 0;
}

/* What the buffer holds of the current extent. */
static int reader_data(struct archive_reader *reader, struct item *item, struct err *err)
{
    size_t step;

    if (reader_fill(reader, 1, err) < 0)
        return -1;
    step = (size_t)u64_min(reader->filled - reader->at, reader->extent_left);
    *item = (struct item){.kind = ITEM_DATA,
        .offset_bytes = reader->extent_offset,
        .data = reader->buffer + reader->at,
        .data_bytes = step};
    reader->at += step;
    reader->extent_offset += step;
    reader->extent_left -= step;
    return 0;
}

int archive_reader_next(struct archive_reader *reader, struct item *item, struct err *err)
{
    /* Ends with the disk at the latest: every record takes its bytes off it. */
    while (reader->extent_left == 0) {
        uint8_t bytes[ARCHIVE_RECORD_BYTES];
        struct archive_record record;

        if (reader_take(reader, bytes, sizeof(bytes), err) < 0)
            return -1;
        reader->record_count++;
        if (archive_get_record(bytes, &record, err) < 0)
            return err_wrap(err, "record %llu", (unsigned long long)reader->record_count);
        if (record.kind == ARCHIVE_END) {
            if (record.size != reader->record_count - 1)
                return err_set(err, "the end of the archive counts %llu records, there are %llu",
                    (unsigned long long)record.size, (unsigned long long)reader->record_count - 1);
            *item = (struct item){.kind = ITEM_END};
            return 0;
        }
        if (record.kind != ARCHIVE_EXTENT)
            return reader_named(reader, &record, item, err);
        if (reader_extent(reader, &record, err) < 0)
            return -1;
    }
    return reader_data(reader, item, err);
}
