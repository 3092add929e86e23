/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: see text.h. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { TEXT_CUT_BYTES = sizeof("...") };

bool text_copy(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);
    bool fits = length < size;

    must(size > 0);
    if (!fits)
        length = size - 1;
    memcpy(to, text, length);
    to[length] = '\0';
    return fits;
}

/* One byte as printable ASCII; PIECE has room for "\xNN". */
static size_t text_escape_byte(char piece[5], uint8_t byte)
{
    switch (byte) {
    case '\n':
        return (size_t)snprintf(piece, 5, "\\n");
    case '\r':
        return (size_t)snprintf(piece, 5, "\\r");
    case '\t':
        return (size_t)snprintf(piece, 5, "\\t");
    case '\\':
        return (size_t)snprintf(piece, 5, "\\\\");
    default:
        if (byte >= 0x20 && byte < 0x7f)
            return (size_t)snprintf(piece, 5, "%c", byte);
        return (size_t)snprintf(piece, 5, "\\x%02x", byte);
    }
}

bool text_append(char *to, size_t to_size, size_t *used, const void *piece, size_t length)
{
    bool fits = *used + length <= to_size - TEXT_CUT_BYTES;

    memcpy(to + *used, fits ? piece : "...", fits ? length : 3);
    *used += fits ? length : 3;
    return fits;
}

void text_escape(char *to, size_t to_size, const void *bytes, size_t size)
{
    const uint8_t *in = bytes;
    size_t used = 0;

    must(to_size >= 8);
    for (size_t i = 0; i < size; i++) {
        char piece[5];
        size_t length = text_escape_byte(piece, in[i]);

        if (!text_append(to, to_size, &used, piece, length))
            break;
    }
    to[used] = '\0';
}

void text_hex(char *to, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[2 * size] = '\0';
}

size_t text_utf8_length(const uint8_t *bytes, size_t size)
{
    uint8_t low = 0x80, high = 0xbf; /* allowed range of the second byte */
    size_t length;

    if (size == 0)
        return 0;
    if (bytes[0] < 0x80)
        return 1;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
        return 0;
    length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    if (length > size)
        return 0;
    if (bytes[0] == 0xe0)
        low = 0xa0; /* over-long */
    if (bytes[0] == 0xed)
        high = 0x9f; /* surrogates */
    if (bytes[0] == 0xf0)
        low = 0x90; /* over-long */
    if (bytes[0] == 0xf4)
        high = 0x8f; /* past U+10FFFF */
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    }
    return length;
}

bool text_utf8_is_control(const uint8_t *bytes, size_t length)
{
    if (length == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    if (length == 2)
        return (bytes[0] == 0xc2 && bytes[1] <= 0x9f) || (bytes[0] == 0xd8 && bytes[1] == 0x9c);
    if (length != 3 || bytes[0] != 0xe2)
        return false;
    if (bytes[1] == 0x80)
        return bytes[2] == 0x8e || bytes[2] == 0x8f || (bytes[2] >= 0xaa && bytes[2] <= 0xae);
    return bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
}
