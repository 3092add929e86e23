/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h: task output as lines for `vmrun --events` (scribe). Pure; input is hostile.
 *
 * A line is one member of a JSON object; the supervisor, which checks it, puts the rest of the
 * object around it:
 *
 *     "text":"..."   the bytes are UTF-8 without NUL, and end with a whole character
 *     "b64":"..."    they are not
 *     "cut":true     bytes are missing here
 *
 * Text has every character escaped that could steer a terminal (text_utf8_is_control()) or that
 * some readers take for the end of a line (U+2028, U+2029). A character that is split between two
 * calls is put together again. The lines of a stream, decoded and joined, are the stream.
 */
#ifndef VMM_SCRIBE_EVENT_H
#define VMM_SCRIBE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "ipc/ipc.h"

enum {
    EVENT_CARRY_MAX = 3,
    EVENT_CHUNK_BYTES = 4096, /* most that one line takes, beside the carry */
};

/* All zero at the start of a stream. */
struct event {
    uint8_t carry[EVENT_CARRY_MAX];
    size_t carry_bytes;
};

/*
 * The line for SIZE more bytes, at most EVENT_CHUNK_BYTES, with its newline. Returns its length,
 * at most IPC_EVENT_LINE_BYTES; 0 when all was carried.
 */
size_t event_put(struct event *event, const uint8_t *in, size_t size, uint8_t *out);

/* The line for what is still carried, at the end or before a cut; 0 when there is nothing. */
size_t event_flush(struct event *event, uint8_t *out);

/* The line that says that bytes are missing. */
size_t event_cut(uint8_t *out);

#endif
