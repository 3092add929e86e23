/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h: task output on its way from the scribe to vmrun's own stdout or stderr (supervisor; the
 * bytes are hostile).
 *
 * A reader that is slow or stands still must neither hold up the task nor keep its files from being
 * exported, and nothing may be lost that it has not read: what it does not take at once goes to an
 * unnamed file, at most LIMIT_BYTES of it, and follows later. The loop never blocks here.
 */
#ifndef VMM_SUPERVISOR_LIVE_H
#define VMM_SUPERVISOR_LIVE_H

#include "base/escape.h"
#include "base/loop.h"
#include "supervisor/progress.h"
#include "supervisor/sink.h"

struct live {
    struct loop *loop;
    struct loop_source in;  /* from the scribe */
    struct loop_source out; /* to the reader, while something waits for it */
    int in_fd;              /* owned; -1 once it has ended */
    struct sink sink;
    bool gone;        /* the reader went away: all is discarded */
    int write_errnum; /* it is gone because writing failed, as on a full disk; else 0 */
    bool is_terminal;
    struct escape escape;
    int spool_fd; /* owned; -1 without one */
    uint64_t spool_start, spool_end, spool_limit;
    uint64_t dropped_bytes;    /* beyond the limit of the spool, or when it could not be written */
    uint64_t progress_ns;      /* when the reader last took something */
    uint64_t dropped_lines;    /* of live_push_line() */
    struct progress *progress; /* shares the terminal; NULL: none does. Set by the caller */
    /* Takes the input instead of the reader; NULL: the reader gets it. Set by the caller. */
    void (*divert)(void *context, const uint8_t *bytes, size_t size);
    void *divert_context;
    void (*changed)(void *context); /* the input ended, or nothing waits any more */
    void *context;
};

#define LIVE_INIT                                                                                  \
    {                                                                                              \
        .in = {.fd = -1}, .out = {.fd = -1}, .in_fd = -1, .sink = SINK_INIT, .spool_fd = -1        \
    }

/* Start copying IN_FD (taken over) to SINK. SPOOL_FD (taken over) may be -1. */
int live_start(struct live *live, struct loop *loop, int in_fd, struct sink sink, int spool_fd,
    uint64_t limit_bytes, struct err *err);
void live_stop(struct live *live);
/* Take nothing more from the scribe. */
void live_end_input(struct live *live);

/*
 * Show one line of SIZE bytes, whole or not at all: the spool has no room for it then, and it is
 * counted. OURS may go beyond the limit of the spool.
 */
void live_push_line(struct live *live, const uint8_t *line, size_t size, bool ours);

/* The scribe's end is closed and everything of it was taken or spooled. */
bool live_input_ended(const struct live *live);
/* Nothing waits for the reader. */
bool live_drained(const struct live *live);

#endif
