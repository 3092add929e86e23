/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: the stdout of `vmrun --events`: one JSON object per line (supervisor). The lifecycle is
 * ours; the member that holds output is a line of the scribe, which passes event_guard.h or ends
 * the run. Both go through one live copy, so that no line is ever split by another.
 */
#ifndef VMM_SUPERVISOR_EVENTS_H
#define VMM_SUPERVISOR_EVENTS_H

#include <jansson.h>

#include "ipc/ipc.h"
#include "supervisor/live.h"

struct events;

/* The line of one stream that is not whole yet. */
struct event_feed {
    struct events *events;
    const char *stream;
    size_t used;
    uint8_t line[IPC_EVENT_LINE_BYTES];
};

struct events {
    struct live *out; /* its reader is stdout */
    uint64_t began_ns;
    struct event_feed feeds[2];
    bool refused; /* a line did not pass: nothing of the scribe's is shown any more */
    void (*broken)(void *context); /* told once */
    void *context;
};

/* Times are counted from BEGAN_NS; broken and context are set by the caller. */
void events_init(struct events *events, struct live *out, uint64_t began_ns);

/* A divert of live.h; CONTEXT is a struct event_feed. */
void events_feed(void *context, const uint8_t *bytes, size_t size);

/* One line: {"event": NAME, "time_ms": ..., and what is in DETAIL}; takes DETAIL over. */
void events_tell(struct events *events, const char *name, json_t *detail);

#endif
