/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: the task's cgroup. The task's main process is born in it and everything that it starts
 * stays in it; the agent and the init of the task's pid namespace are outside, so neither counts
 * against the task's limits nor dies with it. A process that unpacks an input before is in one of
 * its own, so that it cannot have more memory than the task, and the task's numbers are its own.
 */
#ifndef AGENT_CGROUP_H
#define AGENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "job_read.h"

struct cgroup_stats {
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t memory_peak_bytes;
    uint64_t oom_kills;
    uint64_t pids_max_events;
};

/* Make it with the limits of JOB; returns an fd of its directory. */
int cgroup_make(const struct job *job, struct err *err);

/* That of a process which unpacks an input, with the memory of JOB; returns an fd. */
int cgroup_make_unpack(const struct job *job, struct err *err);
/* Close and remove it when its process has ended. True when that was for want of memory. */
bool cgroup_end_unpack(int *cgroup);

/* The pid (the agent's view) of the one process in it; fails when there is not exactly one. */
int cgroup_only_pid(int cgroup, pid_t *pid, struct err *err);

/* Read back whether both limits are what JOB asks for. */
bool cgroup_memory_limited(int cgroup, const struct job *job);
bool cgroup_pids_limited(int cgroup, const struct job *job);

/* CPU time used so far; 0 when it cannot be read. */
uint64_t cgroup_cpu_ns(int cgroup);

/* What was used so far. A number that cannot be read is 0: a claim less, not a failure. */
void cgroup_read_stats(int cgroup, struct cgroup_stats *stats);

/* Send SIGNAL to the processes in it; those that fork meanwhile may be missed. */
void cgroup_signal(int cgroup, int signal);

/* SIGKILL for all, with no way to escape (cgroup.kill). */
int cgroup_kill(int cgroup, struct err *err);

/* True when no process is left in it. */
bool cgroup_empty(int cgroup);

#endif
