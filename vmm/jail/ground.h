/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ground.h: what the jails of one run are built on, and processes that are born into them
 * (supervisor).
 */
#ifndef VMM_JAIL_GROUND_H
#define VMM_JAIL_GROUND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/order.h"

struct jail_ground {
    enum jail_ground_kind kind;
    uid_t uid; /* that the children have on the host */
    gid_t gid;
    bool debug;
    int parent_fd;           /* a pidfd of this process */
    int lock_fd;             /* JAIL_ROOT: holds the user ID for this run */
    int cgroup_fd;           /* of the caller; children begin in there; -1: where we are */
    const char *cgroup_name; /* its last component */
};

#define JAIL_GROUND_INIT                                                                           \
    {                                                                                              \
        .parent_fd = -1, .lock_fd = -1, .cgroup_fd = -1                                            \
    }

struct jail_ground_wish {
    bool allow_weaker;         /* go on without namespaces where there can be none */
    bool debug;                /* children report the system call that is refused */
    uint32_t first_uid, count; /* JAIL_ROOT: user and group IDs to take one from */
};

/* Whether namespaces can be made here; -1 with a remedy in ERR when not. Starts a process. */
int jail_ground_try(enum jail_ground_kind kind, struct err *err);

/*
 * Choose the ground: JAIL_ROOT for root, else JAIL_USER. Without namespaces an error, or JAIL_WEAK
 * where that is wished for.
 */
int jail_ground_make(
    struct jail_ground *ground, const struct jail_ground_wish *wish, struct err *err);
void jail_ground_free(struct jail_ground *ground);

/*
 * Like fork(), into fresh namespaces and the cgroup of GROUND. *PID_FD becomes a pidfd of the
 * child. Returns 0 in the child, its PID here, or -1. Only for a process with one thread.
 */
pid_t jail_ground_fork(const struct jail_ground *ground, int *pid_fd, struct err *err);

/* In the child, before it executes its program: JAIL_USER: the only user of its namespace. */
int jail_ground_arrive(const struct jail_ground *ground);

#endif
