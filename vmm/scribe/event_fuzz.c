/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_fuzz.c: any output, split at a place that the first byte chooses: lines that are framed, in
 * bounds, free of controls and, when they are text, whole characters.
 */
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "scribe/event.h"

static uint8_t line[IPC_EVENT_LINE_BYTES];

static void check_line(size_t size)
{
    if (size == 0)
        return;
    must(size <= sizeof(line) && line[size - 1] == '\n' && line[size - 2] == '"');
    must(memcmp(line, "\"text\":\"", 8) == 0 || memcmp(line, "\"b64\":\"", 7) == 0);
    for (size_t at = 0; at < size - 1;) {
        size_t length = text_utf8_length(line + at, size - 1 - at);

        must(length > 0 && !text_utf8_is_control(line + at, length));
        at += length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event event = {.carry_bytes = 0};
    size_t step = size > 0 && data[0] ? data[0] : EVENT_CHUNK_BYTES;

    for (size_t at = 1; at < size; at += step) {
        check_line(event_put(&event, data + at, size - at < step ? size - at : step, line));
        must(event.carry_bytes <= EVENT_CARRY_MAX);
    }
    check_line(event_flush(&event, line));
    must(event.carry_bytes == 0);
    return 0;
}
