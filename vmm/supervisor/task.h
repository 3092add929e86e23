/* SPDX-License-Identifier: Apache-2.0 */
/* task.h: one run from its file to its result (supervisor). */
#ifndef VMM_SUPERVISOR_TASK_H
#define VMM_SUPERVISOR_TASK_H

#include <stdint.h>

#include "supervisor/options.h"

/*
 * Run the task of OPTIONS, stage by stage. Returns the exit code of vmrun. ERRORS gets what keeps
 * it from a result, one line each; NARRATE (may be NULL) what a person may want to know.
 */
int task_run(const struct options *options, uint64_t began_ns, struct text_list *errors,
    void (*narrate)(const char *text));

#endif
