/* SPDX-License-Identifier: Apache-2.0 */
/* monitor_limits.h: what the kernel grants the monitor at most (supervisor; setrlimit(2)). */
#ifndef VMM_SUPERVISOR_MONITOR_LIMITS_H
#define VMM_SUPERVISOR_MONITOR_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "supervisor/config.h"

/*
 * Set the limits of the monitor PID, which waits for its setup and so has read nothing hostile, and
 * read them back. DISK_BYTES: its largest disk. CPU_NS: CPU time that the task's limit means.
 */
int monitor_limits_set(
    pid_t pid, const struct config *config, uint64_t disk_bytes, uint64_t cpu_ns, struct err *err);

#endif
