/* SPDX-License-Identifier: Apache-2.0 */
/* event.c: see event.h. Input is what the task printed: hostile. */
#include "scribe/event.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/text.h"

enum {
    EVENT_INPUT_MAX = EVENT_CHUNK_BYTES + EVENT_CARRY_MAX,
    EVENT_FACTOR = 6, /* one byte becomes at most \u00XX */
    EVENT_FRAME_BYTES = sizeof("\"text\":\"\"\n"),
};
static_assert(EVENT_FACTOR * EVENT_INPUT_MAX + EVENT_FRAME_BYTES <= IPC_EVENT_LINE_BYTES,
    "the supervisor takes every line that can be made");

static size_t put_literal(uint8_t *out, const char *text)
{
    memcpy(out, text, strlen(text));
    return strlen(text);
}

/* The code point of a character of two or three bytes. */
static uint32_t code_point(const uint8_t *bytes, size_t length)
{
    if (length == 2)
        return (uint32_t)(bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f);
    return (uint32_t)(bytes[0] & 0x0f) << 12 | (uint32_t)(bytes[1] & 0x3f) << 6 | (bytes[2] & 0x3f);
}

static size_t put_unicode(uint8_t *out, uint32_t point)
{
    static const char digits[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = 'u';
    for (int i = 0; i < 4; i++)
        out[2 + i] = (uint8_t)digits[point >> (12 - 4 * i) & 15];
    return 6;
}

/* All controls are in the plane of four digits. */
static size_t put_character(uint8_t *out, const uint8_t *bytes, size_t length)
{
    bool separator = length == 3 && bytes[0] == 0xe2 && bytes[1] == 0x80 &&
                     (bytes[2] == 0xa8 || bytes[2] == 0xa9);

    if (bytes[0] == '"')
        return put_literal(out, "\\\"");
    if (bytes[0] == '\\')
        return put_literal(out, "\\\\");
    if (bytes[0] == '\n')
        return put_literal(out, "\\n");
    if (bytes[0] == '\t')
        return put_literal(out, "\\t");
    if (separator || text_utf8_is_control(bytes, length))
        return put_unicode(out, length == 1 ? bytes[0] : code_point(bytes, length));
    memcpy(out, bytes, length);
    return length;
}

static bool is_text(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = text_utf8_length(bytes + at, size - at);

        if (length == 0 || bytes[at] == '\0')
            return false;
        at += length;
    }
    return true;
}

static size_t put_line(const uint8_t *bytes, size_t size, uint8_t *out)
{
    size_t used;

    if (is_text(bytes, size)) {
        used = put_literal(out, "\"text\":\"");
        for (size_t at = 0; at < size;) {
            size_t length = text_utf8_length(bytes + at, size - at);

            used += put_character(out + used, bytes + at, length);
            at += length;
        }
    } else {
        used = put_literal(out, "\"b64\":\"");
        used += (size_t)EVP_EncodeBlock(out + used, bytes, (int)size); /* and a NUL behind it */
    }
    return used + put_literal(out + used, "\"\n");
}

/* How many bytes at the end of BYTES begin a character that is not whole yet. */
static size_t open_end(const uint8_t *bytes, size_t size)
{
    for (size_t count = 1; count <= EVENT_CARRY_MAX && count <= size; count++) {
        uint8_t first = bytes[size - count];
        uint8_t padded[4] = {0x80, 0x80, 0x80, 0x80};

        if ((first & 0xc0) == 0x80)
            continue; /* the middle of a character */
        if (count == 1)
            return first >= 0xc2 && first <= 0xf4 ? 1 : 0;
        memcpy(padded, bytes + size - count, count);
        return text_utf8_length(padded, sizeof(padded)) > count ? count : 0;
    }
    return 0;
}

size_t event_put(struct event *event, const uint8_t *in, size_t size, uint8_t *out)
{
    uint8_t joined[EVENT_INPUT_MAX];
    size_t whole = event->carry_bytes + size;

    must(size <= EVENT_CHUNK_BYTES);
    memcpy(joined, event->carry, event->carry_bytes);
    memcpy(joined + event->carry_bytes, in, size);
    event->carry_bytes = open_end(joined, whole);
    whole -= event->carry_bytes;
    memcpy(event->carry, joined + whole, event->carry_bytes);
    return whole > 0 ? put_line(joined, whole, out) : 0;
}

size_t event_flush(struct event *event, uint8_t *out)
{
    size_t size = event->carry_bytes;

    event->carry_bytes = 0;
    return size > 0 ? put_line(event->carry, size, out) : 0;
}

size_t event_cut(uint8_t *out)
{
    return put_literal(out, "\"cut\":true\n");
}
