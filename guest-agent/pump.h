/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump.h: moves bytes from one non-blocking fd to another, in one direction, through a buffer of
 * fixed size. It reads only when the buffer is empty, so the slower side sets the pace.
 */
#ifndef AGENT_PUMP_H
#define AGENT_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"

enum { PUMP_BYTES = 256 << 10 };

enum pump_kind {
    PUMP_OUTPUT, /* task to host: goes on reading when the host does not want more */
    PUMP_INPUT,  /* host to task: ends when the task does not want more */
};

struct pump {
    struct loop *loop;
    enum pump_kind kind;
    struct loop_source from;
    struct loop_source to;
    int from_fd;
    int to_fd;
    size_t start; /* of the bytes that wait in the buffer */
    size_t end;
    bool ended;      /* nothing more comes from from_fd */
    bool discarding; /* nothing more goes to to_fd */
    bool done;
    uint64_t active_ns; /* when a byte was last read */
    void (*finished)(void *context);
    void *context;
    struct err *err;
    uint8_t buffer[PUMP_BYTES];
};

/*
 * Start. The pump closes FROM_FD when it has ended; at the end of its work it shuts TO_FD down
 * (output: a stream to the host) or closes it (input: a pipe), then calls FINISHED once. A failure
 * of the loop is set in ERR and stops the loop.
 */
void pump_start(struct pump *pump, struct loop *loop, enum pump_kind kind, int from_fd, int to_fd,
    void (*finished)(void *context), void *context, struct err *err);

#endif
