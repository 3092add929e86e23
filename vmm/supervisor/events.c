/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: see events.h. */
#include "supervisor/events.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "supervisor/event_guard.h"
#include "supervisor/json_memory.h"
#include "supervisor/result_parts.h"

/* EVENT_BYTES: more than the longest, which has a path of 4096 bytes with each escaped. */
enum { PREFIX_BYTES = 128, EVENT_BYTES = 64 * 1024 };

void events_init(struct events *events, struct live *out, uint64_t began_ns)
{
    static const char *const names[] = {"stdout", "stderr"};

    events->out = out;
    events->began_ns = began_ns;
    events->refused = false;
    for (int i = 0; i < 2; i++) {
        events->feeds[i].events = events;
        events->feeds[i].stream = names[i];
        events->feeds[i].used = 0;
    }
}

static uint64_t elapsed_us(const struct events *events)
{
    return (clock_mono_ns() - events->began_ns) / 1000;
}

/* The object around a line of the scribe, as one piece. */
static void pass_line(struct event_feed *feed)
{
    struct events *events = feed->events;
    uint8_t whole[PREFIX_BYTES + IPC_EVENT_LINE_BYTES + 2];
    uint64_t us = elapsed_us(events);
    int prefix = snprintf((char *)whole, PREFIX_BYTES,
        "{\"event\":\"output\",\"time_ms\":%llu.%03llu,\"stream\":\"%s\",",
        (unsigned long long)(us / 1000), (unsigned long long)(us % 1000), feed->stream);
    size_t size = (size_t)prefix;

    must(prefix > 0 && prefix < PREFIX_BYTES);
    memcpy(whole + size, feed->line, feed->used);
    size += feed->used;
    memcpy(whole + size, "}\n", 2);
    live_push_line(events->out, whole, size + 2, false);
}

static void refuse(struct events *events)
{
    events->refused = true;
    events->broken(events->context);
}

void events_feed(void *context, const uint8_t *bytes, size_t size)
{
    struct event_feed *feed = context;

    while (size > 0 && !feed->events->refused) {
        const uint8_t *end = memchr(bytes, '\n', size);
        size_t step = end ? (size_t)(end - bytes) : size;

        if (step > sizeof(feed->line) - feed->used) {
            refuse(feed->events);
            return;
        }
        memcpy(feed->line + feed->used, bytes, step);
        feed->used += step;
        bytes += step;
        size -= step;
        if (!end)
            continue;
        bytes++;
        size--;
        if (!event_guard_passes(feed->line, feed->used)) {
            refuse(feed->events);
            return;
        }
        pass_line(feed);
        feed->used = 0;
    }
}

void events_tell(struct events *events, const char *name, json_t *detail)
{
    json_t *line = json_object();
    char text[EVENT_BYTES];
    bool failed;
    size_t size;

    put_text(line, "event", name);
    put(line, "time_ms", json_real((double)elapsed_us(events) / 1000.0));
    json_object_update(line, detail);
    json_decref(detail);
    size = json_dumpb(line, text, sizeof(text) - 1,
        JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    json_decref(line);
    failed = json_memory_failed();
    json_memory_begin(); /* for the next one, whose DETAIL comes first */
    if (failed || size == 0 || size >= sizeof(text)) {
        events->out->dropped_lines++; /* the event "done" tells how many */
        return;
    }
    text[size] = '\n';
    live_push_line(events->out, (const uint8_t *)text, size + 1, true);
}
