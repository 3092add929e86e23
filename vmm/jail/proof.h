/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof.h: the supervisor reads back what a child in its jail is, from /proc, and from nothing that
 * the child says. Landlock alone is not to be seen there: the child tries it (landlock_confine())
 * and reports, before the gate, when nothing hostile has reached it yet.
 */
#ifndef VMM_JAIL_PROOF_H
#define VMM_JAIL_PROOF_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/ground.h"

/* What was found to be in force. */
enum jail_control {
    JAIL_CONTROL_USER_NS = 1 << 0, /* in the order of powers_namespaces */
    JAIL_CONTROL_MOUNT_NS = 1 << 1,
    JAIL_CONTROL_PID_NS = 1 << 2,
    JAIL_CONTROL_NET_NS = 1 << 3,
    JAIL_CONTROL_IPC_NS = 1 << 4,
    JAIL_CONTROL_UTS_NS = 1 << 5,
    JAIL_CONTROL_CGROUP_NS = 1 << 6,
    JAIL_CONTROL_EMPTY_ROOT = 1 << 7, /* an empty file system that cannot be written */
    JAIL_CONTROL_FDS = 1 << 8,        /* exactly those that it was given */
    JAIL_CONTROL_OWN_UID = 1 << 9,    /* of no other run, and no user's */
    JAIL_CONTROL_NO_NEW_PRIVS = 1 << 10,
    JAIL_CONTROL_NO_CAPABILITIES = 1 << 11,
    JAIL_CONTROL_SECCOMP = 1 << 12,
    JAIL_CONTROL_RLIMITS = 1 << 13,
    JAIL_CONTROL_NOT_DUMPABLE = 1 << 14,
    JAIL_CONTROL_LANDLOCK = 1 << 15, /* tried and reported by the child; where the kernel has it */
    JAIL_CONTROL_CGROUP = 1 << 16,   /* memory.max, pids.max, cpu.max; where that was delegated */
};

enum { JAIL_CONTROLS = 17 };
/* As result.json names them, in the order of the bits. */
extern const char *const jail_control_names[JAIL_CONTROLS];

/* Those that the child reported; all others were read back. */
#define JAIL_CONTROLS_REPORTED ((uint32_t)JAIL_CONTROL_LANDLOCK)

/* Every control that a ground of KIND with children of UID must have in the end, but for the
 * cgroup. */
uint32_t jail_controls_due(enum jail_ground_kind kind, uid_t uid);

/*
 * After its word "confined": namespaces, root, and that its open fds are the FD_COUNT of FDS, in
 * ascending order; ABI is that of Landlock which the word says confines it. Adds to *CONTROLS. An
 * error is a control that is missing.
 */
int proof_confined(pid_t pid, const struct jail_ground *ground, const int *fds, size_t fd_count,
    uint32_t abi, uint32_t *controls, struct err *err);

/* After its word "sealed": status of each of its THREADS threads, limits of ORDER. */
int proof_sealed(pid_t pid, const struct jail_ground *ground, const struct jail_order *order,
    unsigned int threads, uint32_t *controls, struct err *err);

/* Parts of the latter, for tests: what the text of /proc/PID/status and /proc/PID/limits says. */
int proof_status_text(const char *text, const struct jail_ground *ground, struct err *err);
int proof_limits_text(const char *text, const struct jail_order *order, struct err *err);

#endif
