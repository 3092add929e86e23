/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h: starting and ending the children (supervisor).
 *
 * A child has its own session, so that Ctrl-C at the terminal reaches the supervisor alone, an
 * empty environment, no signal blocked or ignored, and exactly the fds it is given; it is killed
 * when the supervisor dies.
 */
#ifndef VMM_SUPERVISOR_SPAWN_H
#define VMM_SUPERVISOR_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/ground.h"

enum { CHILD_FDS_MAX = 24 };

/* FD of ours becomes NUMBER of the child's. */
struct child_fd {
    int fd;
    int number;
};

struct child {
    const char *name;
    pid_t pid;         /* 0: never started, or reaped */
    int pid_fd;        /* readable once it has ended; -1 when there is none */
    int ipc;           /* our end of the channel, non-blocking; -1 when there is none */
    int jail;          /* the same of the jail's (jail/order.h); -1 without a jail */
    uint32_t controls; /* enum jail_control: read back so far */
    bool gated;        /* the gate is still closed */
    int net_ns_fd;     /* its network namespace, which goes when this is closed; -1 without */
    struct jail_order order;
    int fds[CHILD_FDS_MAX + 3]; /* that it was given, by its own numbers */
    size_t fd_count;
    uint64_t oom_kills;  /* of the host when it was started */
    int wait_status;     /* once reaped */
    struct rusage usage; /* once reaped */
};

#define CHILD_INIT                                                                                 \
    {                                                                                              \
        .pid_fd = -1, .ipc = -1, .jail = -1, .net_ns_fd = -1                                       \
    }

/*
 * Start the program NAME of PROGRAMS_FD, a directory. Its end of the channel is at IPC_FD. With a
 * GROUND it is born into its namespaces and has the channel to its jail; child_jail.h goes on.
 * Without one (unit tests) there is no jail.
 */
int child_spawn(struct child *child, const struct jail_ground *ground, int programs_fd,
    const char *name, const struct child_fd *fds, size_t fd_count, struct err *err);

/* SIGKILL. Safe on a child that is gone. */
void child_kill(struct child *child);

/* Wait for its end and collect wait_status and usage. */
void child_reap(struct child *child);

/* How it ended, for people: "exited with 12, Cannot allocate memory", "was killed by signal 11
 * (Segmentation fault)". */
void child_end_text(const struct child *child, char *text, size_t size);

/* Kill, reap, close; not net_ns_fd. Safe on any state. */
void child_fini(struct child *child);

#endif
