/* SPDX-License-Identifier: Apache-2.0 */
/* jail_limits.c: see jail_limits.h. */
#include "supervisor/jail_limits.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/num.h"
#include "jail/sanitized.h"

/* Program, libraries, vmlinux as a file, heap; and for each vCPU a stack and an arena of malloc. */
#define MONITOR_MEMORY_BYTES (256 * MIB)
#define VCPU_MEMORY_BYTES    (144 * MIB)
/* Program, libraries, buffers of a fixed size. */
#define SCRIBE_MEMORY_BYTES (96 * MIB)
/* The same, and what is remembered of each name. */
#define EXTRACTOR_MEMORY_BYTES    (96 * MIB)
#define BUNDLE_FILE_BYTES         (8 * KIB)
#define EXTRACTOR_MEMORY_PER_FILE 256
/* What it writes to, heap and tables: it takes two thirds of that at the most that can be asked of
 * it. */
#define EXTRACTOR_DATA_BYTES      (8 * MIB)
#define SCRIBE_LOG_HEADROOM_BYTES (1 * MIB)
#define EXTRACTOR_CPU_NS_PER_MIB  (125 * NS_PER_MS)

/* Resident, and page tables and buffers of the kernel's in the children's name. */
#define CGROUP_MEMORY_BYTES (512 * MIB)

/* Shadow memory. */
#define SANITIZED_MEMORY_BYTES (SANITIZED ? 1ULL << 47 : 0ULL)

/* 12 or 13 given, one for each vCPU, two for each queue, the VM's, the loop's; and as many again.
 */
enum { MONITOR_FILES = 64, VCPU_FILES = 2, OTHER_FILES = 32 };

/*
 * Threads: one for each vCPU, the loop, and those that KVM starts in the monitor's name at the
 * first KVM_RUN (since Linux 6.13). As root the run's other child has the same user ID.
 */
enum { MONITOR_THREADS = 8, OTHER_THREADS = 1 };

/*
 * What is not the task's: boot, setup, export and stop, none of which takes longer than its own
 * deadline. The supervisor's clock comes first; this is for when the supervisor itself hangs.
 */
#define OTHER_CPU_NS (300 * NS_PER_S)

/* The caller's own limit stays where it is the tighter one. */
static void order_limit(struct jail_order *order, int resource, uint64_t value)
{
    struct rlimit ours;

    must(order->limit_count < JAIL_LIMITS_MAX);
    if (getrlimit((__rlimit_resource_t)resource, &ours) == 0)
        value = u64_min(value, ours.rlim_max);
    order->limits[order->limit_count++] =
        (struct jail_limit){.resource = (uint32_t)resource, .value = value};
}

static void order_limits(struct jail_order *order, uint64_t memory_bytes, uint64_t file_bytes,
    uint64_t files, uint64_t cpu_ns)
{
    order->limit_count = 0;
    /* a core dump would hold the task's data and the guest's memory */
    order_limit(order, RLIMIT_CORE, 0);
    order_limit(order, RLIMIT_MEMLOCK, 0);
    order_limit(order, RLIMIT_AS, SANITIZED_MEMORY_BYTES | memory_bytes);
    order_limit(order, RLIMIT_FSIZE, file_bytes);
    order_limit(order, RLIMIT_NOFILE, files);
    order_limit(order, RLIMIT_CPU, cpu_ns / NS_PER_S + 1);
}

void jail_limits_monitor(
    struct jail_order *order, const struct config *config, uint64_t disk_bytes, uint64_t cpu_ns)
{
    uint64_t other_ns = (2 * config->boot_ns + OTHER_CPU_NS) * (config->vcpus + 1);

    order_limits(order,
        config->memory_bytes + MONITOR_MEMORY_BYTES + config->vcpus * VCPU_MEMORY_BYTES, disk_bytes,
        MONITOR_FILES + config->vcpus * VCPU_FILES, cpu_ns + other_ns);
    order_limit(order, RLIMIT_NPROC, config->vcpus + MONITOR_THREADS);
}

void jail_limits_scribe(
    struct jail_order *order, const struct config *config, uint64_t console_bytes)
{
    uint64_t largest =
        config->stdout_bytes > config->stderr_bytes ? config->stdout_bytes : config->stderr_bytes;

    order_limits(order, SCRIBE_MEMORY_BYTES, largest + console_bytes + SCRIBE_LOG_HEADROOM_BYTES,
        OTHER_FILES, 2 * config->boot_ns + config->wall_ns + OTHER_CPU_NS);
    order_limit(order, RLIMIT_NPROC, OTHER_THREADS);
}

void jail_limits_extractor(struct jail_order *order, const struct config *config)
{
    /* Content that does not become smaller, and what a tar says of each file. */
    uint64_t bundle_bytes = config->artifacts_total_bytes + config->artifacts_total_bytes / 8 +
                            config->artifacts_files * BUNDLE_FILE_BYTES + MIB;
    uint64_t cpu_ns = OTHER_CPU_NS + config->artifacts_total_bytes / MIB * EXTRACTOR_CPU_NS_PER_MIB;

    order_limits(order,
        EXTRACTOR_MEMORY_BYTES + config->artifacts_files * EXTRACTOR_MEMORY_PER_FILE,
        config->artifacts_bundle ? bundle_bytes : config->artifacts_file_bytes, OTHER_FILES,
        cpu_ns);
    order_limit(order, RLIMIT_DATA, SANITIZED_MEMORY_BYTES | EXTRACTOR_DATA_BYTES);
    order_limit(order, RLIMIT_NPROC, OTHER_THREADS);
}

struct jail_cgroup_limits jail_limits_cgroup(const struct config *config)
{
    return (struct jail_cgroup_limits){.memory_bytes = config->memory_bytes + CGROUP_MEMORY_BYTES +
                                                       config->disk_bytes +
                                                       2 * config->artifacts_total_bytes +
                                                       config->stdout_bytes + config->stderr_bytes,
        .processes = config->vcpus + MONITOR_THREADS + 2 * OTHER_THREADS,
        .cpus = config->vcpus + 1};
}
