/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h: the limits of a running task that only time can show: CPU time and silence. Both wake up
 * no earlier than the limit can be reached: the CPU time that is left takes at least its share of
 * every CPU, and output that came in the meantime moves the other.
 */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include <stdint.h>

#include "base/loop.h"
#include "job_read.h"
#include "pump.h"

struct watch {
    struct loop *loop;
    const struct pump *outputs[2];
    int cgroup;
    uint64_t cpu_end_ns; /* of the cgroup's CPU time */
    uint64_t cpu_count;
    uint64_t start_ns;
    uint64_t idle_ns;
    uint64_t wall_end_ns; /* what comes no earlier than that is not watched */
    struct loop_timer cpu;
    struct loop_timer idle;
    void (*reached)(void *context, uint32_t limit); /* one bit of enum wire_limit */
    void *context;
};

/*
 * Watch the task in CGROUP, which starts at START_NS, by the limits of JOB. What it used before is
 * the agent's preparation and does not count.
 */
void watch_start(
    struct watch *watch, struct loop *loop, int cgroup, const struct job *job, uint64_t start_ns);

/* Safe on a watch that was not started. */
void watch_stop(struct watch *watch);

#endif
