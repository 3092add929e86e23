/* SPDX-License-Identifier: Apache-2.0 */
/* escape.c: see escape.h. Input is what the task printed: hostile. */
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

static size_t escape_byte(uint8_t byte, uint8_t *out)
{
    static const char digits[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = 'x';
    out[2] = (uint8_t)digits[byte >> 4];
    out[3] = (uint8_t)digits[byte & 15];
    return 4;
}

/* True when SIZE bytes (at most three), which are no whole character, are how one may begin. */
static bool escape_is_beginning(const uint8_t *bytes, size_t size)
{
    uint8_t padded[4] = {0x80, 0x80, 0x80, 0x80};

    if (size == 1)
        return bytes[0] >= 0xc2 && bytes[0] <= 0xf4;
    memcpy(padded, bytes, size);
    return text_utf8_length(padded, sizeof(padded)) > size;
}

/* One character or one bad byte from the front of IN; 0 when IN must first grow. */
static size_t escape_step(const uint8_t *in, size_t size, uint8_t *out, size_t *used)
{
    size_t length = text_utf8_length(in, size);

    if (length == 0 && size <= ESCAPE_CARRY_MAX && escape_is_beginning(in, size))
        return 0;
    if (length == 0) {
        *used += escape_byte(in[0], out + *used);
        return 1;
    }
    if (text_utf8_is_control(in, length) && in[0] != '\n' && in[0] != '\t') {
        for (size_t i = 0; i < length; i++)
            *used += escape_byte(in[i], out + *used);
        return length;
    }
    memcpy(out + *used, in, length);
    *used += length;
    return length;
}

/*
 * The carried bytes joined with the beginning of IN: whole characters and bad bytes that begin in
 * the carry are written. Returns how many bytes of IN were used up.
 */
static size_t escape_join(
    struct escape *escape, const uint8_t *in, size_t size, uint8_t *out, size_t *used)
{
    uint8_t joined[2 * ESCAPE_CARRY_MAX];
    size_t carried = escape->carry_bytes;
    size_t added = size < ESCAPE_CARRY_MAX ? size : ESCAPE_CARRY_MAX;
    size_t at = 0;

    memcpy(joined, escape->carry, carried);
    memcpy(joined + carried, in, added);
    while (at < carried) {
        size_t step = escape_step(joined + at, carried + added - at, out, used);

        if (step == 0) { /* only when all of IN is in JOINED */
            escape->carry_bytes = carried + added - at;
            memcpy(escape->carry, joined + at, escape->carry_bytes);
            return added;
        }
        at += step;
    }
    escape->carry_bytes = 0;
    return at - carried;
}

size_t escape_put(struct escape *escape, const uint8_t *in, size_t size, uint8_t *out)
{
    size_t used = 0;
    size_t at = 0;

    if (escape->carry_bytes > 0 && size > 0)
        at = escape_join(escape, in, size, out, &used);
    while (at < size) {
        size_t step = escape_step(in + at, size - at, out, &used);

        if (step == 0) {
            escape->carry_bytes = size - at;
            memcpy(escape->carry, in + at, escape->carry_bytes);
            break;
        }
        at += step;
    }
    return used;
}

size_t escape_flush(struct escape *escape, uint8_t *out)
{
    size_t used = 0;

    for (size_t i = 0; i < escape->carry_bytes; i++)
        used += escape_byte(escape->carry[i], out + used);
    escape->carry_bytes = 0;
    return used;
}

void escape_line(char *to, size_t to_size, const char *text)
{
    const uint8_t *in = (const uint8_t *)text;
    size_t left = strlen(text), used = 0;

    must(to_size >= 4);
    while (left > 0) {
        uint8_t piece[4 * ESCAPE_FACTOR];
        size_t length = 0;
        size_t step = *in == '\n' ? 0 : escape_step(in, left, piece, &length);

        if (step == 0) { /* a newline, or a character that the end cuts */
            length = escape_byte(*in, piece);
            step = 1;
        }
        if (!text_append(to, to_size, &used, piece, length))
            break;
        in += step;
        left -= step;
    }
    to[used] = '\0';
}
