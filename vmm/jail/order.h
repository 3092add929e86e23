/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: the words between a child that enters its jail and the supervisor, on a SOCK_SEQPACKET
 * of their own (JAIL_FD in the child). In time order:
 *
 *     supervisor                     child
 *     order                     -->  namespaces, root, user, resource limits, Landlock
 *                               <--  confined
 *     looks at namespaces, root and fds, which can be seen now; sends the setup (ipc.h)
 *                                    prepares; starts its threads; not dumpable; seccomp
 *                               <--  sealed
 *     looks at status and limits of every thread
 *     gate                      -->  goes on: hostile bytes are read from here on
 *
 * Instead of its next word a child may say that it failed. In debug mode, and only then, it may
 * report later which system call was refused.
 */
#ifndef VMM_JAIL_ORDER_H
#define VMM_JAIL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    JAIL_FD = 25,        /* the child's end */
    JAIL_FD_PARENT = 26, /* a pidfd of the supervisor; closed once it was looked at */
    JAIL_LIMITS_MAX = 12,
};

/* What the jail can be built on. */
enum jail_ground_kind {
    JAIL_WEAK = 1, /* no namespaces: neither root nor user namespaces */
    JAIL_USER = 2, /* a user namespace, whose only user is the caller */
    JAIL_ROOT = 3, /* the caller is root: a user ID of the run's own */
};

struct jail_limit {
    uint32_t resource; /* RLIMIT_* */
    uint64_t value;
};

struct jail_order {
    uint32_t kind;     /* enum jail_ground_kind */
    uint32_t uid, gid; /* JAIL_ROOT only */
    bool debug;        /* report a refused system call instead of dying of it silently */
    uint32_t limit_count;
    struct jail_limit limits[JAIL_LIMITS_MAX];
};

enum jail_word {
    JAIL_CONFINED = 1, /* number: ABI of Landlock that confines it; 0 without */
    JAIL_SEALED = 2,
    JAIL_GATE = 3,
    JAIL_FAILED = 4,  /* text */
    JAIL_REFUSED = 5, /* number: a system call; debug mode only */
};

struct jail_message {
    enum jail_word word;
    uint32_t number;
    char text[512];
};

/* Both ends of a new channel, close-on-exec. */
int jail_channel(int fds[2], struct err *err);

int jail_send_order(int fd, const struct jail_order *order, struct err *err);
int jail_receive_order(int fd, struct jail_order *order, struct err *err);

/* TEXT may be NULL. Uses sendmsg(2) only, and is safe in a signal handler. Returns 0, or -1. */
int jail_say(int fd, enum jail_word word, uint32_t number, const char *text);

/*
 * Returns 1, 0 when the other side is gone, -1 on error, with errnum EAGAIN when FD is non-blocking
 * and nothing is there. The text is the child's: bytes that nobody has checked.
 */
int jail_hear(int fd, struct jail_message *message, struct err *err);

#endif
