/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: rows of powers.h as a seccomp program (children). */
#ifndef VMM_JAIL_FILTER_H
#define VMM_JAIL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"
#include "jail/powers.h"

enum { FILTER_MAX = 256 }; /* instructions */

/* Stays where it was made: PROGRAM points into it. */
struct filter {
    struct sock_fprog program;
    struct sock_filter code[FILTER_MAX];
};

/*
 * Everything that no row allows kills the process; in DEBUG it raises SIGSYS instead. Needs no
 * memory and cannot fail: a table that is too long is a bug of ours.
 */
void filter_make(const struct powers_thread *thread, bool debug, struct filter *filter);

/* Report a refused call on FD and end the process; for debug mode only. */
int filter_report_refused(int fd, struct err *err);

/* FILTER for the calling thread and what it starts; no_new_privs is set. -1 with errno. */
int filter_load(const struct filter *filter);

#endif
