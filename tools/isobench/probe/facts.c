/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c: one line of JSON, built in a fixed buffer and written at once, so that lines of several
 * processes do not mix. What does not fit is cut, and the line says so.
 */
#include "probe.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 60000, TAIL_BYTES = 32 };

static char line[LINE_MAX_BYTES + TAIL_BYTES];
static size_t used_bytes;
static bool cut;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(line + used_bytes, LINE_MAX_BYTES - used_bytes, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= LINE_MAX_BYTES - used_bytes)
        cut = true; /* used_bytes stays: the line remains valid JSON */
    else
        used_bytes += (size_t)length;
}

void facts_begin(const char *probe)
{
    used_bytes = 0;
    cut = false;
    put("{\"probe\":\"%s\"", probe);
}

void fact_int(const char *key, long long value)
{
    put(",\"%s\":%lld", key, value);
}

/* Bytes become Latin-1 characters: nothing is lost, and every line is ASCII. */
void fact_text(const char *key, const char *text, size_t length)
{
    const size_t before = used_bytes;
    put(",\"%s\":\"", key);
    for (size_t i = 0; i < length && !cut; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\')
            put("\\u%04x", byte);
        else
            put("%c", byte);
    }
    put("\"");
    if (cut)
        used_bytes = before; /* a half string would not be JSON */
}

void fact_string(const char *key, const char *text)
{
    fact_text(key, text, strlen(text));
}

void fact_ints(const char *key, const long long *values, size_t count)
{
    const size_t before = used_bytes;
    put(",\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        put("%s%lld", i ? "," : "", values[i]);
    put("]");
    if (cut)
        used_bytes = before;
}

void facts_end(void)
{
    const char *end = cut ? ",\"cut\":1}\n" : "}\n";
    const size_t length = strlen(end);
    memcpy(line + used_bytes, end, length);
    const size_t total_bytes = used_bytes + length;
    for (size_t done = 0; done < total_bytes;) {
        const ssize_t written = write(STDOUT_FILENO, line + done, total_bytes - done);
        if (written <= 0)
            _exit(3);
        done += (size_t)written;
    }
}
