/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.c: see cursor.h. */
#include "base/cursor.h"

#include <string.h>

#include "base/num.h"

struct reader reader_make(const void *bytes, size_t size)
{
    return (struct reader){.bytes = bytes, .left = size, .failed = false};
}

const uint8_t *reader_bytes(struct reader *reader, size_t size)
{
    const uint8_t *at = reader->bytes;

    if (reader->failed || size > reader->left) {
        reader->failed = true;
        return NULL;
    }
    if (size == 0)
        return at; /* may be NULL, to which C adds nothing, not even zero */
    reader->bytes += size;
    reader->left -= size;
    return at;
}

uint8_t reader_u8(struct reader *reader)
{
    const uint8_t *at = reader_bytes(reader, 1);

    return at ? *at : 0;
}

uint16_t reader_u16(struct reader *reader)
{
    const uint8_t *at = reader_bytes(reader, 2);

    return at ? le16_load(at) : 0;
}

uint32_t reader_u32(struct reader *reader)
{
    const uint8_t *at = reader_bytes(reader, 4);

    return at ? le32_load(at) : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    const uint8_t *at = reader_bytes(reader, 8);

    return at ? le64_load(at) : 0;
}

void reader_copy(struct reader *reader, void *to, size_t size)
{
    const uint8_t *at = reader_bytes(reader, size);

    if (size == 0)
        return;
    if (at)
        memcpy(to, at, size);
    else
        memset(to, 0, size);
}

bool reader_done(const struct reader *reader)
{
    return !reader->failed && reader->left == 0;
}

struct writer writer_make(void *bytes, size_t size)
{
    return (struct writer){.bytes = bytes, .used = 0, .size = size, .failed = false};
}

static uint8_t *writer_room(struct writer *writer, size_t size)
{
    uint8_t *at;

    if (writer->failed || size > writer->size - writer->used) {
        writer->failed = true;
        return NULL;
    }
    if (size == 0)
        return NULL; /* nothing to write; the buffer may be NULL */
    at = writer->bytes + writer->used;
    writer->used += size;
    return at;
}

void writer_bytes(struct writer *writer, const void *bytes, size_t size)
{
    uint8_t *at = writer_room(writer, size);

    if (at && size > 0)
        memcpy(at, bytes, size);
}

void writer_u8(struct writer *writer, uint8_t value)
{
    uint8_t *at = writer_room(writer, 1);

    if (at)
        *at = value;
}

void writer_u16(struct writer *writer, uint16_t value)
{
    uint8_t *at = writer_room(writer, 2);

    if (at)
        le16_store(at, value);
}

void writer_u32(struct writer *writer, uint32_t value)
{
    uint8_t *at = writer_room(writer, 4);

    if (at)
        le32_store(at, value);
}

void writer_u64(struct writer *writer, uint64_t value)
{
    uint8_t *at = writer_room(writer, 8);

    if (at)
        le64_store(at, value);
}
