/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: a cgroup of its own around the children of a run, where that was delegated (supervisor;
 * Documentation/admin-guide/cgroup-v2.rst).
 *
 * Controllers can only be had below a cgroup without processes of its own. So when vmrun is alone
 * in its cgroup, as under systemd-run --scope -p Delegate=yes, it moves into a child of it for the
 * length of the run. What others are in is left as it is, and so are their limits.
 */
#ifndef VMM_JAIL_CGROUP_H
#define VMM_JAIL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum jail_cgroup_kind {
    CGROUP_NONE, /* no cgroups, or none that can be seen */
    CGROUP_V1,   /* the old hierarchies, which cannot be delegated safely: not used */
    CGROUP_V2,
};

struct jail_cgroup_limits {
    uint64_t memory_bytes, processes, cpus;
};

enum { CGROUP_NAME_BYTES = 64 };

struct jail_cgroup {
    enum jail_cgroup_kind kind;
    int base_fd; /* the cgroup that we were started in */
    int fd;      /* that of the children; -1: nothing was delegated */
    bool moved;  /* we are in NAME.self */
    char name[CGROUP_NAME_BYTES];
};

#define JAIL_CGROUP_INIT                                                                           \
    {                                                                                              \
        .base_fd = -1, .fd = -1                                                                    \
    }

/*
 * Make the cgroup vmrun-RUN_ID with LIMITS, read back. Where that cannot be, fd stays -1 and WHY
 * says what is in the way: it is a layer more, not one that a run needs.
 */
void jail_cgroup_make(struct jail_cgroup *cgroup, const char *run_id,
    const struct jail_cgroup_limits *limits, struct err *why);

/* Once the children are reaped: everything is as it was. */
void jail_cgroup_free(struct jail_cgroup *cgroup);

/* For tests: which kind the text of /proc/self/cgroup tells of; *PATH is that of version 2. */
enum jail_cgroup_kind jail_cgroup_kind(const char *text, char *path, size_t size);

#endif
