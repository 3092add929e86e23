/* SPDX-License-Identifier: Apache-2.0 */
/* event_guard.c: see event_guard.h. Lines are at most IPC_EVENT_LINE_BYTES long. */
#include "supervisor/event_guard.h"

#include <string.h>

#include "base/text.h"

static bool is_hex(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool is_base64(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '+' || byte == '/' || byte == '=';
}

/* One escape at BYTES, which begins with a backslash; its length, 0 when it is none of ours. */
static size_t escape_length(const uint8_t *bytes, size_t size)
{
    if (size >= 2 && memchr("\"\\nt", bytes[1], 4))
        return 2;
    if (size < 6 || bytes[1] != 'u')
        return 0;
    for (size_t i = 2; i < 6; i++) {
        if (!is_hex(bytes[i]))
            return 0;
    }
    return bytes[2] == 'd' && bytes[3] >= '8' ? 0 : 6; /* half of a surrogate pair */
}

static bool text_passes(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = text_utf8_length(bytes + at, size - at);

        if (length == 0 || bytes[at] == '"' || text_utf8_is_control(bytes + at, length))
            return false;
        if (bytes[at] == '\\')
            length = escape_length(bytes + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static bool base64_passes(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!is_base64(bytes[i]))
            return false;
    }
    return true;
}

/* LINE is PREFIX, something, and a quote; *SIZE becomes the size of the something. */
static bool is_framed(const uint8_t *line, size_t *size, const char *prefix)
{
    size_t length = strlen(prefix);

    if (*size < length + 1 || memcmp(line, prefix, length) != 0 || line[*size - 1] != '"')
        return false;
    *size -= length + 1;
    return true;
}

bool event_guard_passes(const uint8_t *line, size_t size)
{
    static const char text[] = "\"text\":\"", base64[] = "\"b64\":\"", cut[] = "\"cut\":true";
    size_t inner = size;

    if (is_framed(line, &inner, text))
        return text_passes(line + strlen(text), inner);
    if (is_framed(line, &inner, base64))
        return base64_passes(line + strlen(base64), inner);
    return size == strlen(cut) && memcmp(line, cut, size) == 0;
}
