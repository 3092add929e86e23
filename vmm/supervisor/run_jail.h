/* SPDX-License-Identifier: Apache-2.0 */
/* run_jail.h: the jails of the children of a run (supervisor). */
#ifndef VMM_SUPERVISOR_RUN_JAIL_H
#define VMM_SUPERVISOR_RUN_JAIL_H

#include "supervisor/supervise.h"

/* Fill in the rest of ORDER and send it. Nothing when the run has no ground (unit tests). */
int run_jail_order(
    const struct supervision *run, struct child *child, struct jail_order *order, struct err *err);

/* Listen for a child that is sealed, with THREADS threads, and open its gate then. */
int run_jail_watch(struct supervision *run, struct child *child, struct run_jail *jail,
    unsigned int threads, struct err *err);

#endif
