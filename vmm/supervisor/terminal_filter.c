/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_filter.c: see terminal_filter.h. */
#include "supervisor/terminal_filter.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static size_t put_escaped(uint8_t *out, uint8_t byte)
{
    char digits[3];

    text_hex(digits, &byte, 1);
    out[0] = '\\';
    out[1] = 'x';
    memcpy(out + 2, digits, 2);
    return 4;
}

/* Of a valid sequence of two or more bytes. */
static uint32_t code_point(const uint8_t *bytes, size_t length)
{
    uint32_t value = bytes[0] & (0xffU >> (length + 1));

    for (size_t i = 1; i < length; i++)
        value = value << 6 | (bytes[i] & 0x3f);
    return value;
}

static bool is_harmless(uint32_t point)
{
    return point >= 0xa0 && point != 0x061c && point != 0xfeff &&
           !(point >= 0x200b && point <= 0x200f) && !(point >= 0x2028 && point <= 0x202e) &&
           !(point >= 0x2060 && point <= 0x206f);
}

/* SIZE bytes could be the start of a valid sequence that is longer. */
static bool is_incomplete(const uint8_t *bytes, size_t size)
{
    uint8_t whole[4];

    if (size >= 4 || bytes[0] < 0xc2 || bytes[0] > 0xf4)
        return false;
    memcpy(whole, bytes, size);
    for (size_t length = size; length < 4; length++) {
        /* The second byte is the only one with a narrower range: a0 and 80 cover all of them. */
        whole[length] = length == 1 && (bytes[0] == 0xe0 || bytes[0] == 0xf0) ? 0xa0 : 0x80;
        if (text_utf8_length(whole, length + 1) == length + 1)
            return true;
    }
    return false;
}

/* One character of BYTES to OUT. Returns the bytes taken, 0 when more are needed to tell. */
static size_t take_character(const uint8_t *bytes, size_t size, uint8_t *out, size_t *used)
{
    size_t length = text_utf8_length(bytes, size);

    if (length == 1 &&
        (bytes[0] == '\n' || bytes[0] == '\t' || (bytes[0] >= 0x20 && bytes[0] < 0x7f))) {
        out[(*used)++] = bytes[0];
        return 1;
    }
    if (length > 1 && is_harmless(code_point(bytes, length))) {
        memcpy(out + *used, bytes, length);
        *used += length;
        return length;
    }
    if (length == 0 && is_incomplete(bytes, size))
        return 0;
    *used += put_escaped(out + *used, bytes[0]);
    for (size_t i = 1; i < length; i++)
        *used += put_escaped(out + *used, bytes[i]);
    return length ? length : 1;
}

/* Everything in BYTES but an incomplete character at its end, which becomes pending. */
static size_t filter_all(
    struct terminal_filter *filter, const uint8_t *bytes, size_t size, uint8_t *out)
{
    size_t used = 0;

    filter->pending_count = 0;
    while (size > 0) {
        size_t taken = take_character(bytes, size, out, &used);

        if (taken == 0) {
            memcpy(filter->pending, bytes, size);
            filter->pending_count = size;
            break;
        }
        bytes += taken;
        size -= taken;
    }
    return used;
}

size_t terminal_filter(
    struct terminal_filter *filter, const uint8_t *bytes, size_t size, uint8_t *out)
{
    size_t used = 0;

    if (size == 0) {
        for (size_t i = 0; i < filter->pending_count; i++)
            used += put_escaped(out + used, filter->pending[i]);
        filter->pending_count = 0;
        return used;
    }
    /* Complete what is pending byte by byte; at most three steps. */
    while (filter->pending_count > 0 && size > 0) {
        uint8_t joined[TERMINAL_FILTER_PENDING_MAX + 1];
        size_t count = filter->pending_count;

        memcpy(joined, filter->pending, count);
        joined[count] = *bytes++;
        size--;
        used += filter_all(filter, joined, count + 1, out + used);
    }
    return size > 0 ? used + filter_all(filter, bytes, size, out + used) : used;
}
