/* SPDX-License-Identifier: Apache-2.0 */
/* job_pack.h: the job of the agent (wire/job.h) from the config (supervisor). */
#ifndef VMM_SUPERVISOR_JOB_PACK_H
#define VMM_SUPERVISOR_JOB_PACK_H

#include "base/cursor.h"
#include "supervisor/config.h"

/* Write the payload; fails when it does not fit. */
int job_pack(
    const struct config *config, uint64_t clock_ns, struct writer *writer, struct err *err);

/* The same into a sealed memfd. Returns the fd or -1. */
int job_make(const struct config *config, struct err *err);

/* The job of a second machine, which exports what the first left: no task, no inputs. */
int job_make_salvage(const struct config *config, struct err *err);

#endif
