/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jail.h: how a child gives up everything that its powers do not name (monitor, scribe, extractor).
 *
 *     jail_enter(&jail, &powers, &err);    first of all
 *     ... reads its setup, which comes once the supervisor has looked; prepares, starts threads;
 *     nothing of it is hostile ...
 *     jail_seal_thread(&jail, thread, &err);    each thread, of itself
 *     jail_seal(&jail, &err);    the main thread; returns when the gate is open
 *
 * There is one order, and each step that could be undone by a later one stands behind it: see
 * jail_confine() in jail.c. Nothing of this is believed: the supervisor reads it back (proof.h)
 * before it opens the gate.
 */
#ifndef VMM_JAIL_JAIL_H
#define VMM_JAIL_JAIL_H

#include "base/err.h"
#include "jail/filter.h"
#include "jail/order.h"
#include "jail/powers.h"

/* Stays where it was entered. */
struct jail {
    const struct powers *powers;
    struct jail_order order;
    struct filter filters[POWERS_THREADS_MAX];
    int landlock_abi; /* that confines the process; 0 without */
};

/* Up to and with Landlock; the filters are made, but not in force yet. */
int jail_enter(struct jail *jail, const struct powers *powers, struct err *err);

/*
 * The filter of powers->threads[THREAD] for the calling thread. Returns 0, or -1 with errno; makes
 * no other system call, before or after.
 */
int jail_seal_thread(const struct jail *jail, unsigned int thread);

/*
 * Not dumpable, no more processes than there are, the filter of threads[0]; then waits for the
 * gate. All other threads must be sealed.
 */
int jail_seal(struct jail *jail, struct err *err);

/* Tell the supervisor why the child goes no further. */
void jail_fail(const struct err *err);

#endif
