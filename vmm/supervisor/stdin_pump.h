/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdin_pump.h: vmrun's stdin, or a file, into the pipe to the monitor (supervisor). One buffer:
 * when the task does not read, nothing is read here either. End of file closes the pipe.
 */
#ifndef VMM_SUPERVISOR_STDIN_PUMP_H
#define VMM_SUPERVISOR_STDIN_PUMP_H

#include "base/loop.h"
#include "supervisor/sink.h"

enum { STDIN_PUMP_BYTES = 65536 };

struct stdin_pump {
    struct loop *loop;
    struct loop_source in;
    struct loop_source out;
    struct sink sink; /* where it comes from */
    int out_fd;       /* owned; -1 once closed */
    size_t start, end;
    uint8_t bytes[STDIN_PUMP_BYTES];
};

/* Start copying SINK to OUT_FD, the write end of a pipe; both are taken over. */
int stdin_pump_start(
    struct stdin_pump *pump, struct loop *loop, struct sink sink, int out_fd, struct err *err);
/* Safe on a pump that is all zero. */
void stdin_pump_stop(struct stdin_pump *pump);

#endif
