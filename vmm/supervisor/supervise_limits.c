/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_limits.c: CPU time and silence of a task, as the host sees them (supervisor). The guest
 * ends a task by itself, at the limit; the host, which trusts nothing in there, somewhat later.
 *
 * Both are read off clocks that the kernel keeps of our children. The monitor's CPU clock has all
 * that the guest uses. The scribe sleeps until output arrives, so its CPU clock stands still for
 * exactly as long as the task is silent: no byte is looked at, and past its cap it still shows.
 */
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "supervisor/supervise_internal.h"

/*
 * The guest's kernel and agent, the devices and the end of the task at its limit cost CPU time that
 * is not the task's: a quarter on top, and for each vCPU the time the agent has to end the task.
 */
#define CPU_SHARE     4
#define CPU_GRACE_NS  (2 * NS_PER_S)
#define CPU_STEP_NS   (100 * NS_PER_MS)
#define IDLE_GRACE_NS (2 * NS_PER_S) /* for the agent to end the task itself */

/* CPU time of the process so far; 0 when it is gone. */
static uint64_t process_cpu_ns(const struct child *child)
{
    struct timespec time;
    clockid_t clock;

    if (child->pid <= 0 || clock_getcpuclockid(child->pid, &clock) != 0 ||
        clock_gettime(clock, &time) < 0)
        return 0;
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

uint64_t run_host_cpu_ns(const struct config *config)
{
    return config->cpu_ns + config->cpu_ns / CPU_SHARE + config->vcpus * CPU_GRACE_NS;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

/* What it was killed by is no proof: a monitor that was taken over can send itself any signal. */
bool run_cpu_is_used_up(const struct supervision *run)
{
    const struct rusage *usage = &run->outcome->monitor_usage;

    return timeval_ns(usage->ru_utime) + timeval_ns(usage->ru_stime) >= run->cpu_end_ns;
}

/* The next look is no earlier than all threads of the monitor together can get there. */
static void cpu_check(void *context)
{
    struct supervision *run = context;
    uint64_t used_ns = process_cpu_ns(&run->monitor);
    uint64_t wait_ns;

    if (run->state != STATE_TASK)
        return;
    if (used_ns >= run->cpu_end_ns) {
        run_end(run, CAUSE_CPU_DEADLINE);
        return;
    }
    wait_ns = (run->cpu_end_ns - used_ns) / (run->plan->config->vcpus + 1);
    if (wait_ns < CPU_STEP_NS)
        wait_ns = CPU_STEP_NS;
    loop_timer_set(&run->loop, &run->cpu_check, clock_mono_ns() + wait_ns);
}

/* A look says only that there was output since the last, so silence may last up to twice as long.
 */
static void idle_check(void *context)
{
    struct supervision *run = context;
    uint64_t used_ns = process_cpu_ns(&run->scribe);

    if (run->state != STATE_TASK)
        return;
    if (used_ns == run->scribe_cpu_ns) {
        run_end(run, CAUSE_IDLE_DEADLINE);
        return;
    }
    run->scribe_cpu_ns = used_ns;
    loop_timer_set(
        &run->loop, &run->idle_check, clock_mono_ns() + run->plan->config->idle_ns + IDLE_GRACE_NS);
}

void run_limits_start(struct supervision *run)
{
    const struct config *config = run->plan->config;

    run->cpu_check = (struct loop_timer){.expired = cpu_check, .context = run};
    run->idle_check = (struct loop_timer){.expired = idle_check, .context = run};
    run->cpu_end_ns = process_cpu_ns(&run->monitor) + run_host_cpu_ns(config);
    cpu_check(run);
    if (config->idle_ns >= config->wall_ns)
        return; /* the wall comes first */
    run->scribe_cpu_ns = process_cpu_ns(&run->scribe);
    loop_timer_set(&run->loop, &run->idle_check, clock_mono_ns() + config->idle_ns + IDLE_GRACE_NS);
}
