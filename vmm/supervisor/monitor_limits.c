/* SPDX-License-Identifier: Apache-2.0 */
/* monitor_limits.c: see monitor_limits.h. Each limit is one that no honest run comes near. */
#include "supervisor/monitor_limits.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/num.h"

/* Program, libraries, vmlinux as a file, heap; and for each vCPU a stack and an arena of malloc. */
#define BASE_MEMORY_BYTES (256 * MIB)
#define VCPU_MEMORY_BYTES (144 * MIB)

/* A sanitizer (make asan, make tsan) takes terabytes of address space for its shadow. */
#ifdef VMRUN_SANITIZED
#define ADDRESS_SPACE(config) ((void)(config), RLIM_INFINITY)
#else
#define ADDRESS_SPACE(config)                                                                      \
    ((config)->memory_bytes + BASE_MEMORY_BYTES + (config)->vcpus * VCPU_MEMORY_BYTES)
#endif

/* 12 or 13 given, one for each vCPU, two for each queue, the VM's, the loop's; and as many again.
 */
enum { BASE_FILES = 64, VCPU_FILES = 2 };

/*
 * What is not the task's: boot, setup, export and stop, none of which takes longer than its own
 * deadline. The supervisor's clock comes first; this is for when the supervisor itself hangs.
 */
#define OTHER_CPU_NS (300 * NS_PER_S)

struct monitor_limit {
    int resource;
    const char *name;
    uint64_t value;
};

static int monitor_limit_apply(pid_t pid, const struct monitor_limit *limit, struct err *err)
{
    struct rlimit wanted = {.rlim_cur = limit->value, .rlim_max = limit->value}, present;

    if (prlimit(pid, (__rlimit_resource_t)limit->resource, NULL, &present) < 0)
        return err_sys(err, "cannot read the limit %s of vmrun-monitor", limit->name);
    if (present.rlim_max < wanted.rlim_max) /* the caller's own: it stays the tighter one */
        wanted.rlim_cur = wanted.rlim_max = present.rlim_max;
    if (prlimit(pid, (__rlimit_resource_t)limit->resource, &wanted, NULL) < 0 ||
        prlimit(pid, (__rlimit_resource_t)limit->resource, NULL, &present) < 0)
        return err_sys(err, "cannot set the limit %s of vmrun-monitor to %llu", limit->name,
            (unsigned long long)wanted.rlim_max);
    if (present.rlim_cur != wanted.rlim_cur || present.rlim_max != wanted.rlim_max)
        return err_set(err, "the limit %s of vmrun-monitor is not in force", limit->name);
    return 0;
}

int monitor_limits_set(
    pid_t pid, const struct config *config, uint64_t disk_bytes, uint64_t cpu_ns, struct err *err)
{
    uint64_t other_ns = (2 * config->boot_ns + OTHER_CPU_NS) * (config->vcpus + 1);
    const struct monitor_limit limits[] = {
        /* a core dump would hold the task's data and the guest's memory */
        {RLIMIT_CORE, "core", 0},
        {RLIMIT_AS, "address space", ADDRESS_SPACE(config)},
        {RLIMIT_FSIZE, "file size", disk_bytes},
        {RLIMIT_NOFILE, "open files", BASE_FILES + config->vcpus * VCPU_FILES},
        {RLIMIT_CPU, "CPU time", (cpu_ns + other_ns) / NS_PER_S + 1},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (monitor_limit_apply(pid, &limits[i], err) < 0)
            return -1;
    }
    return 0;
}
