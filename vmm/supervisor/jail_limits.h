/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jail_limits.h: what the kernel grants each child at most (supervisor; setrlimit(2)). Each is a
 * limit that no honest child comes near. They become part of ORDER; the caller's own limits stay
 * where they are tighter. The number of processes is the last of them.
 */
#ifndef VMM_SUPERVISOR_JAIL_LIMITS_H
#define VMM_SUPERVISOR_JAIL_LIMITS_H

#include "jail/cgroup.h"
#include "jail/order.h"
#include "supervisor/config.h"

/* DISK_BYTES: its largest disk. CPU_NS: CPU time that the task's limit means. */
void jail_limits_monitor(
    struct jail_order *order, const struct config *config, uint64_t disk_bytes, uint64_t cpu_ns);
/* CONSOLE_BYTES: of the console that are kept. */
void jail_limits_scribe(
    struct jail_order *order, const struct config *config, uint64_t console_bytes);
void jail_limits_extractor(struct jail_order *order, const struct config *config);

/* All children together, with what they write, which a tmpfs keeps in memory. */
struct jail_cgroup_limits jail_limits_cgroup(const struct config *config);

#endif
