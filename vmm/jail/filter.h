/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: rows of powers.h as a seccomp program (children). */
#ifndef VMM_JAIL_FILTER_H
#define VMM_JAIL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"
#include "jail/powers.h"

/*
 * Everything that no row allows kills the process; in DEBUG it raises SIGSYS instead. The
 * instructions of PROGRAM are allocated and stay for good.
 */
int filter_make(
    const struct powers_thread *thread, bool debug, struct sock_fprog *program, struct err *err);

/* Report a refused call on FD and end the process; for debug mode only. */
int filter_report_refused(int fd, struct err *err);

/* PROGRAM for the calling thread and what it starts; no_new_privs is set. -1 with errno. */
int filter_load(const struct sock_fprog *program);

#endif
