/* SPDX-License-Identifier: Apache-2.0 */
/* controls.h: which limits and walls are really there, read back from the kernel. */
#ifndef AGENT_CONTROLS_H
#define AGENT_CONTROLS_H

#include <stdint.h>

#include "base/err.h"
#include "job_read.h"
#include "task.h"

/*
 * Look at the task's main process, which waits at the gate, and set CONTROLS to what is in force
 * (bits of enum wire_control). Fails, naming it, when one that JOB asks for is not.
 */
int controls_verify(
    const struct task *task, const struct job *job, uint64_t *controls, struct err *err);

/* The same from the text of /proc/PID/status alone: UID, NO_CAPS, NO_NEW_PRIVS, SECCOMP. Pure. */
uint64_t controls_of_status(const char *status, const struct job *job);

#endif
