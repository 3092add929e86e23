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

/*
 * User and group of the init of the task's namespace, which no task can have: even to a task of
 * root's, init is another user's process, not to be signalled, limited or looked into.
 */
#define CONFINE_INIT_ID 4294967294U

/* For that init, once the task's first process is there: its own user, and no capability. */
int confine_init(struct err *err);

#endif
