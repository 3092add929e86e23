/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h: several tasks in one call (supervisor). Each run is a vmrun process of its own with one
 * --config; the parent starts them, counts them, passes signals on, and shares nothing with them.
 *
 * batch.c decides, without a look at the system: which run may start, what the batch ends with, how
 * it is told. batch_run.c has the processes.
 */
#ifndef VMM_SUPERVISOR_BATCH_H
#define VMM_SUPERVISOR_BATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "supervisor/options.h"

/* Where a run of a batch writes vmrun's own lines; its standard streams are /dev/null. */
enum { BATCH_MEMBER_FD = 3 };

enum batch_state {
    BATCH_WAITING,
    BATCH_RUNNING,
    BATCH_OK,
    BATCH_FAILED,
    BATCH_NOT_STARTED, /* the batch was cancelled first */
    BATCH_STATES,
};

enum { BATCH_LINE_BYTES = 2048, BATCH_PROGRESS_BYTES = 128 };

struct batch_run {
    struct batch *batch;
    const char *config; /* path of the task file */
    char *name;
    uint64_t need_bytes; /* of the host's memory */
    enum batch_state state;
    int code;        /* exit code, once it has ended */
    bool told_waits; /* that it waits for memory was said */

    pid_t pid;
    int pid_fd, lines_fd;
    struct loop_source ended, lines;
    char line[BATCH_LINE_BYTES]; /* the beginning of one that is not complete yet */
    size_t line_bytes;
};

struct batch {
    const struct options *options;
    struct batch_run *runs;
    size_t count;
    unsigned jobs;
    int signal; /* the first that cancelled the batch; 0: none */
    int signal_count;
    uint64_t began_ns;

    void (*say)(const char *text);      /* one line; never NULL */
    void (*progress)(const char *text); /* replaces the line before; NULL when not on a terminal */
    struct loop loop;
    struct loop_source signals;
    int signal_fd;
    struct loop_timer tick;
};

/* How many runs are in STATE. */
size_t batch_count(const struct batch *batch, enum batch_state state);

/*
 * The run that is to start next: the first that waits and fits into LEFT_BYTES. -1 when there is
 * none, all jobs are taken, or the batch was cancelled.
 */
ssize_t batch_pick(const struct batch *batch, uint64_t left_bytes);

/*
 * What is left of AVAILABLE_BYTES for another run. A run that goes on has a claim on all that it
 * needs, though RESIDENT_BYTES(run) of it is not available any more already.
 */
uint64_t batch_left_bytes(const struct batch *batch, uint64_t available_bytes,
    uint64_t (*resident_bytes)(const struct batch_run *run));

/* RUN has ended as wait(2) says. */
void batch_take_end(struct batch_run *run, int wait_status);

/* No run starts any more. */
void batch_cancel(struct batch *batch, int signal_number);

/*
 * 0 when all ended with 0. Else 128 + N when signal N cancelled the batch; else the code of the
 * first, in the order of the command line, that did not end with 0.
 */
int batch_exit_code(const struct batch *batch);

/* "3 ok, 1 failed, 2 running, 4 waiting"; what is 0 is left out. */
void batch_progress_text(const struct batch *batch, char text[BATCH_PROGRESS_BYTES]);

/* Run all tasks of OPTIONS. Returns the exit code; ERRORS says why nothing was started. */
int batch_main(const struct options *options, struct text_list *errors,
    void (*say)(const char *text), void (*progress)(const char *text));

#endif
