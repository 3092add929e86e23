/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h: task output made safe for a terminal: by the scribe, and once more by the supervisor,
 * in case that the scribe was taken over; what is escaped already stays as it is. Pure; input is
 * hostile.
 *
 * Control characters but \n and \t, DEL, C1, bidi controls (text_utf8_is_control()) and whatever is
 * not UTF-8 come out as \xNN, byte by byte; all else as it is. A character that is split between
 * two calls is put together again.
 */
#ifndef VMM_BASE_ESCAPE_H
#define VMM_BASE_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

enum {
    ESCAPE_CARRY_MAX = 3, /* longest beginning of a character that is not yet whole */
    ESCAPE_FACTOR = 4,    /* one byte becomes at most "\xNN" */
};

/* All zero at the start of a stream. */
struct escape {
    uint8_t carry[ESCAPE_CARRY_MAX];
    size_t carry_bytes;
};

/* OUT has room for ESCAPE_FACTOR * (SIZE + ESCAPE_CARRY_MAX) bytes. Returns the bytes written. */
size_t escape_put(struct escape *escape, const uint8_t *in, size_t size, uint8_t *out);

/* What is still carried, escaped, at the end: up to ESCAPE_FACTOR * ESCAPE_CARRY_MAX bytes. */
size_t escape_flush(struct escape *escape, uint8_t *out);

/*
 * TEXT as one line: as above, and \n too. Cut (with "..." at the end, no character in half) to fit
 * into TO, which is always terminated; TO_SIZE is at least 4.
 */
void escape_line(char *to, size_t to_size, const char *text);

#endif
