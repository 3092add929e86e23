/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.h: what a run needs of the host's memory, and what is left of it (supervisor). */
#ifndef VMM_SUPERVISOR_HOST_MEMORY_H
#define VMM_SUPERVISOR_HOST_MEMORY_H

#include <sys/types.h>

#include "supervisor/config.h"

/*
 * What a run takes beside the guest's RAM: supervisor, scribe, monitor and extractor with their
 * buffers, KVM's page tables, and what the kernel keeps for sockets, pipes and dirty disk pages.
 */
#define RUN_OVERHEAD_BYTES (48 * MIB)

/* Page tables of KVM and of the monitor: one byte for so many of guest RAM. */
#define RUN_TABLES_SHARE 128

/* Host memory that one run of CONFIG may come to take. */
uint64_t run_memory_bytes(const struct config *config);

struct host_memory {
    uint64_t total_bytes; /* of the host, or the least limit of a cgroup around us */
    uint64_t
        available_bytes; /* what can be had without swapping, or being killed by such a limit */
};

/*
 * MemAvailable, and the limits of every cgroup (v1 and v2) that this process is in. ROOT is put in
 * front of /proc and /sys: "" but in tests.
 */
int host_memory_read(const char *root, struct host_memory *memory, struct err *err);

/*
 * How many processes the host's kernel has killed for want of memory, of all of it or of a
 * cgroup's; HOST_OOM_UNKNOWN when it does not say. ROOT as above.
 */
#define HOST_OOM_UNKNOWN UINT64_MAX
uint64_t host_oom_kills(const char *root);

/* What process PID and its children have resident now; 0 when that cannot be read. */
uint64_t run_resident_bytes(pid_t pid);

#endif
