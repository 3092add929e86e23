/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: a cgroup of its own around the children of a run, where that was delegated (supervisor;
 * Documentation/admin-guide/cgroup-v2.rst).
 *
 * Controllers can only be had below a cgroup without processes of its own. So when vmrun is alone
 * in its cgroup, as under systemd-run --scope -p Delegate=yes, it moves into a child of it, the
 * "self", for the length of the run. Several runs of one call are born in the self of their parent,
 * which moved for all of them; each has its own cgroup beside it. What others are in is left as it
 * is, and so are their limits.
 *
 *     base/                       memory, pids and cpu for its children
 *         vmrun-ID.self           vmrun, or the parent of several
 *         vmrun-RUN               the children of a run
 */
#ifndef VMM_JAIL_CGROUP_H
#define VMM_JAIL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum jail_cgroup_kind {
    CGROUP_NONE, /* no cgroups, or none that can be seen */
    CGROUP_V1, /* the old hierarchies: not used, as a user cannot be given a part of them safely */
    CGROUP_V2,
};

struct jail_cgroup_limits {
    uint64_t memory_bytes, processes, cpus;
};

enum { CGROUP_NAME_BYTES = 64, CGROUP_PATH_BYTES = 2048 };

struct jail_cgroup {
    enum jail_cgroup_kind kind;
    int base_fd;
    int fd;                       /* that of the children; -1: they have none */
    bool moved;                   /* we are in the self, by ourselves */
    char name[CGROUP_NAME_BYTES]; /* of the children's, in the base */
    char self[CGROUP_PATH_BYTES]; /* the path of the self, whether we are in it or not */
};

#define JAIL_CGROUP_INIT                                                                           \
    {                                                                                              \
        .base_fd = -1, .fd = -1                                                                    \
    }

/*
 * Find the base for the cgroup vmrun-ID; makes nothing. Where there is none, -1, and WHY says what
 * is in the way: a cgroup is a layer more, not one that a run needs.
 */
int jail_cgroup_find(struct jail_cgroup *cgroup, const char *id, struct err *why);

/* Make the cgroup of the children with LIMITS, read back. -1 as above. */
int jail_cgroup_make(
    struct jail_cgroup *cgroup, const struct jail_cgroup_limits *limits, struct err *why);

/* For the parent of several runs: see to it that each can have a cgroup. -1 as above. */
int jail_cgroup_share(struct jail_cgroup *cgroup, struct err *why);

/* Once the children are reaped: everything is as it was. Safe on any state. */
void jail_cgroup_free(struct jail_cgroup *cgroup);

/*
 * What a killed run left: its cgroup vmrun-ID beside SELF, and SELF, each if nobody is in it.
 * True when there was something; DRY only looks.
 */
bool jail_cgroup_clear(const char *self, const char *id, bool dry);

/* For tests: which kind the text of /proc/self/cgroup tells of; *PATH is that of version 2. */
enum jail_cgroup_kind jail_cgroup_kind(const char *text, char *path, size_t size);

/* For tests: the path of the self of the run ID, for a vmrun that is in the cgroup PATH. */
void jail_cgroup_self(const char *path, const char *id, char self[CGROUP_PATH_BYTES]);

#endif
