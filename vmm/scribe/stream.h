/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h: one output stream on its way from the monitor's pipe to its log and its live copy
 * (scribe). Driven by the event loop.
 */
#ifndef VMM_SCRIBE_STREAM_H
#define VMM_SCRIBE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "ipc/ipc.h"
#include "scribe/live.h"
#include "scribe/log.h"

struct stream {
    enum ipc_stream id;
    struct loop *loop;
    int in_fd; /* -1 after the end of the stream */
    bool is_done;
    struct loop_source in_source;
    struct loop_source live_source;
    struct log log;
    struct live live;
    /* The stream has ended and its log is final. */
    void (*ended)(void *context, const struct ipc_stream_totals *totals);
    /* Nothing is left to do for this stream, its live copy included. */
    void (*done)(void *context);
    /* The stream cannot go on: the process has to end. */
    void (*failed)(void *context, const struct err *err);
    void *context;
};

/* The fds of stream ID are at the numbers of ipc.h. The caller has set the callbacks of STREAM. */
int stream_start(struct stream *stream, struct loop *loop, enum ipc_stream id,
    const struct ipc_scribe *setup, struct err *err);

#endif
