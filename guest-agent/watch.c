/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: see watch.h. Input: times, of the guest's kernel. */
#include "watch.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cgroup.h"
#include "wire/wire.h"

/*
 * A task that uses half a CPU halves what is left with each look, and never gets there; this is how
 * far a task may overrun its CPU time, on each CPU.
 */
#define WATCH_CPU_STEP_NS (10 * NS_PER_MS)

static void watch_cpu_expired(void *context)
{
    struct watch *watch = context;
    uint64_t used_ns = cgroup_cpu_ns(watch->cgroup);
    uint64_t wait_ns;

    if (used_ns >= watch->cpu_end_ns) {
        watch->reached(watch->context, WIRE_LIMIT_CPU);
        return;
    }
    wait_ns = (watch->cpu_end_ns - used_ns) / watch->cpu_count;
    if (wait_ns < WATCH_CPU_STEP_NS)
        wait_ns = WATCH_CPU_STEP_NS;
    loop_timer_set(watch->loop, &watch->cpu, clock_mono_ns() + wait_ns);
}

static void watch_idle_expired(void *context)
{
    struct watch *watch = context;
    uint64_t now_ns = clock_mono_ns();
    uint64_t active_ns = watch->start_ns;
    uint64_t end_ns = UINT64_MAX;

    for (int i = 0; i < 2; i++) {
        const struct pump *output = watch->outputs[i];

        if (output->active_ns > active_ns)
            active_ns = output->active_ns;
        if (output->start < output->end) /* the host is slow: that is not the task's silence */
            active_ns = now_ns;
    }
    (void)u64_add(active_ns, watch->idle_ns, &end_ns);
    if (end_ns <= now_ns)
        watch->reached(watch->context, WIRE_LIMIT_IDLE);
    else if (end_ns < watch->wall_end_ns)
        loop_timer_set(watch->loop, &watch->idle, end_ns);
}

void watch_start(
    struct watch *watch, struct loop *loop, int cgroup, const struct job *job, uint64_t start_ns)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wall_cpu_ns = UINT64_MAX;

    watch->loop = loop;
    watch->cgroup = cgroup;
    watch->cpu_count = cpus > 0 ? (uint64_t)cpus : 1;
    watch->start_ns = start_ns;
    watch->idle_ns = job->idle_ns;
    watch->wall_end_ns = watch->cpu_end_ns = UINT64_MAX;
    (void)u64_add(start_ns, job->wall_ns, &watch->wall_end_ns);
    (void)u64_add(cgroup_cpu_ns(cgroup), job->cpu_ns, &watch->cpu_end_ns);
    watch->cpu = (struct loop_timer){.expired = watch_cpu_expired, .context = watch};
    watch->idle = (struct loop_timer){.expired = watch_idle_expired, .context = watch};
    (void)u64_mul(job->wall_ns, watch->cpu_count, &wall_cpu_ns);
    if (job->cpu_ns < wall_cpu_ns)
        watch_cpu_expired(watch);
    if (job->idle_ns < job->wall_ns)
        watch_idle_expired(watch);
}

void watch_stop(struct watch *watch)
{
    if (!watch->loop)
        return;
    loop_timer_clear(watch->loop, &watch->cpu);
    loop_timer_clear(watch->loop, &watch->idle);
}
