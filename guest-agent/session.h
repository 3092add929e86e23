/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: the task from start to the death of its last process: events, deadlines, streams. */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <stdint.h>

#include "base/err.h"
#include "channel.h"
#include "job_read.h"

/*
 * Run the task of JOB: STARTED and EXITED are sent, output and input carried, every process killed
 * in the end and the output streams shut down behind the last byte. JOB_NS: when the job was
 * complete.
 */
int session_run(
    const struct channel *channel, const struct job *job, uint64_t job_ns, struct err *err);

/* The task could not be set up for the reason in WHY: tell the host instead of running it. */
int session_refuse(const struct channel *channel, const struct err *why, struct err *err);

#endif
