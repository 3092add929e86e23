/* SPDX-License-Identifier: Apache-2.0 */
/* guest.h: the machine around the task: the agent's own mounts, the clock, the scratch disk. */
#ifndef AGENT_GUEST_H
#define AGENT_GUEST_H

#include <stdint.h>

#include "base/err.h"
#include "job_read.h"
#include "wire/wire.h"

/* What the machine is. STARTED_NS: CLOCK_MONOTONIC when the agent began. */
void guest_describe(struct wire_hello *hello, uint64_t started_ns);

/* Mount /dev, /proc and cgroups for the agent, and set what holds for the whole guest. */
int guest_prepare(struct err *err);

/*
 * Set the wall clock. CLOCK_NS: the host's when the job was made, before this machine ran. A kernel
 * that has the host's clock (kvm-clock) is later than that and knows better; for one that began in
 * 1970 the time since its start is added, which is all that can be known.
 */
int guest_set_clock(uint64_t clock_ns, struct err *err);

/* Mount the scratch disk at PLACE_SCRATCH, grown to the size in JOB, with the task's folders. */
int guest_mount_scratch(const struct job *job, struct err *err);

/*
 * Mount a scratch disk that another guest left, read-only. It may hold anything: what the kernel
 * makes of it is this machine's trouble and no other's.
 */
int guest_mount_salvage(struct err *err);

/*
 * WIRE_LIMIT_DISK and WIRE_LIMIT_INODES, as far as the scratch disk is full now. A task that met a
 * full disk and then deleted something is not told from one that did not.
 */
uint32_t guest_scratch_limits(const struct job *job);

#endif
