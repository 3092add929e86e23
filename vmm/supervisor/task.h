/* SPDX-License-Identifier: Apache-2.0 */
/* task.h: one run from its file to its result (supervisor). */
#ifndef VMM_SUPERVISOR_TASK_H
#define VMM_SUPERVISOR_TASK_H

#include <stdint.h>

#include "supervisor/options.h"

/*
 * Run the task of OPTIONS, stage by stage. Returns the exit code of vmrun. ERRORS gets what keeps
 * it from a result, one line each; PRINT puts a line on stderr.
 */
int task_run(const struct options *options, uint64_t began_ns, struct text_list *errors,
    void (*print)(const char *text));

/*
 * What vmrun exits with when there is no result: the command line or the task file is wrong
 * (USERS_FAULT), or something that they name could not be had.
 */
int task_exit_code(const struct options *options, bool users_fault);

#endif
