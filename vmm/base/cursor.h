/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h: a bounded byte cursor over memory that somebody else owns (all processes).
 *
 * Reading past the end or writing past the end never touches memory outside: it sets `failed`, the
 * read value is zero, and every later call fails too. So a decoder reads all fields and looks at
 * `failed` once, before it uses any of them.
 */
#ifndef VMM_BASE_CURSOR_H
#define VMM_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *bytes;
    size_t left; /* bytes not read yet */
    bool failed;
};

struct writer {
    uint8_t *bytes;
    size_t used; /* bytes written */
    size_t size; /* bytes there are */
    bool failed;
};

struct reader reader_make(const void *bytes, size_t size);
uint8_t reader_u8(struct reader *reader);
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
/* The next SIZE bytes, still in the caller's buffer; NULL when there are fewer. */
const uint8_t *reader_bytes(struct reader *reader, size_t size);
/* Copy the next SIZE bytes; zeroes when there are fewer. */
void reader_copy(struct reader *reader, void *to, size_t size);
/* True when everything was read and nothing failed. */
bool reader_done(const struct reader *reader);

struct writer writer_make(void *bytes, size_t size);
void writer_u8(struct writer *writer, uint8_t value);
void writer_u16(struct writer *writer, uint16_t value);
void writer_u32(struct writer *writer, uint32_t value);
void writer_u64(struct writer *writer, uint64_t value);
void writer_bytes(struct writer *writer, const void *bytes, size_t size);

#endif
