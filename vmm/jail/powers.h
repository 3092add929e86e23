/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powers.h: what a process may still do once it is in its jail, as data (each child has a
 * powers.c).
 *
 * A row is a right with the reason why the process cannot do without it. What no row names is not
 * there: a system call kills the process, a path does not exist, a namespace is empty.
 */
#ifndef VMM_JAIL_POWERS_H
#define VMM_JAIL_POWERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A condition on an argument. The kernel takes most of what is checked here as an int, so that the
 * upper half of the register is the caller's to choose: only the lower half is compared.
 */
enum powers_check {
    POWERS_ANY = 0,
    POWERS_IS,    /* the lower 32 bits are VALUE */
    POWERS_LACKS, /* no bit of VALUE is set */
    POWERS_SELF,  /* the process ID of the process that makes the filter; VALUE is not looked at */
};

struct powers_arg {
    enum powers_check check;
    uint8_t index; /* of the argument, from 0 */
    uint32_t value;
};

enum { POWERS_ARGS_MAX = 2 };

/* Several rows of one call are alternatives; the conditions of one row hold together. */
struct powers_call {
    int number; /* SCMP_SYS(name); of calls that this architecture lacks it is negative */
    const char *name;
    const char *why;
    struct powers_arg args[POWERS_ARGS_MAX];
};

#define POWERS_CALL(call, reason)                                                                  \
    {                                                                                              \
        SCMP_SYS(call), #call, reason,                                                             \
        {                                                                                          \
            {                                                                                      \
                POWERS_ANY, 0, 0                                                                   \
            }                                                                                      \
        }                                                                                          \
    }
#define POWERS_END                                                                                 \
    {                                                                                              \
        0, NULL, NULL,                                                                             \
        {                                                                                          \
            {                                                                                      \
                POWERS_ANY, 0, 0                                                                   \
            }                                                                                      \
        }                                                                                          \
    } /* of each list of calls */
#define POWERS_CALL_IF(call, reason, ...)                                                          \
    {                                                                                              \
        SCMP_SYS(call), #call, reason,                                                             \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* A kind of thread, with its filter. */
struct powers_thread {
    const char *name;
    const struct powers_call *calls;
    const struct powers_call *arch_calls; /* those that differ between architectures, or NULL */
};

/* A resource limit (setrlimit(2)): VALUE, or what the supervisor orders for this run. */
#define POWERS_ORDERED UINT64_MAX

struct powers_limit {
    int resource;
    uint64_t value;
    const char *why;
};

/* What may be done beneath a directory that the process has open (landlock(7)). */
struct powers_path {
    int fd;
    uint64_t access; /* LANDLOCK_ACCESS_FS_* */
    const char *why;
};

enum { POWERS_THREADS_MAX = 2 };

struct powers {
    const char *name; /* of the process, as in /proc/PID/comm */
    const struct powers_thread *threads[POWERS_THREADS_MAX]; /* the main thread's first */
    const struct powers_limit *limits;
    size_t limit_count;
    const struct powers_path *paths;
    size_t path_count;
};

/*
 * Every child has each of these to itself, and nothing is in them (namespaces(7)); ended by a row
 * without a name. The name is that of the file in /proc/PID/ns.
 */
struct powers_namespace {
    int flag; /* CLONE_NEW* */
    const char *name;
    const char *why;
};
extern const struct powers_namespace powers_namespaces[];

#endif
