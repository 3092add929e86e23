/* SPDX-License-Identifier: Apache-2.0 */
/* confine.h: how the task's process gives up the agent's rights. Order matters; see confine.c. */
#ifndef AGENT_CONFINE_H
#define AGENT_CONFINE_H

#include "base/err.h"
#include "job_read.h"

/* Resource limits, and the ordinary standing with the OOM killer. */
int confine_limits(const struct job *job, struct err *err);

/* User, groups, every capability, no_new_privs; not yet the filter (filter.h). */
int confine_rights(const struct job *job, struct err *err);

/* Only the capabilities, for the init of the task's namespace. */
int confine_drop_capabilities(struct err *err);

#endif
