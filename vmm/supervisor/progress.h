/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h: one line on the terminal about a run that takes longer than a second (supervisor). It
 * is drawn only where a line begins, and is gone before anything else is written.
 */
#ifndef VMM_SUPERVISOR_PROGRESS_H
#define VMM_SUPERVISOR_PROGRESS_H

#include <stdbool.h>

#include "base/loop.h"
#include "supervisor/sink.h"

enum { PROGRESS_TEXT_BYTES = 72 }; /* a line that wraps could not be erased */

struct progress {
    struct loop *loop; /* NULL: off */
    struct loop_timer timer;
    struct sink sink;
    bool shown;
    bool mid_line; /* the task's last output did not end its line */
    /* Writes what there is to say. */
    void (*describe)(void *context, char text[PROGRESS_TEXT_BYTES]);
    void *context;
};

#define PROGRESS_INIT                                                                              \
    {                                                                                              \
        .sink = SINK_INIT                                                                          \
    }

/* Only when stderr is a terminal; describe and context are set by the caller. */
void progress_start(struct progress *progress, struct loop *loop);
void progress_stop(struct progress *progress);

/* Before something else is written to the terminal. */
void progress_hide(struct progress *progress);
/* After it was: whether it ended its line. */
void progress_wrote(struct progress *progress, bool line_ended);

#endif
