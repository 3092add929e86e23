/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_jail.h: a child goes into its jail, step by step, and each step is read back (supervisor).
 *
 *     child_spawn(); child_order(); child_confined(); the setup is sent; child_sealed()
 */
#ifndef VMM_SUPERVISOR_CHILD_JAIL_H
#define VMM_SUPERVISOR_CHILD_JAIL_H

#include "supervisor/spawn.h"

/*
 * A child that dies on the way, whatever of, is no error of these: its end is seen at its pidfd,
 * and tells what it was. An error is a jail that is not as it must be.
 */

/* Send ORDER: how the child is to confine itself. */
int child_order(struct child *child, const struct jail_order *order, struct err *err);

/* Wait until it has, a few milliseconds, and look at it. Nothing for a child without a jail. */
int child_confined(struct child *child, const struct jail_ground *ground, struct err *err);

/*
 * It has said something on its channel: when it is sealed, with THREADS threads, the gate is
 * opened, and gated is false afterwards.
 */
int child_sealed(
    struct child *child, const struct jail_ground *ground, unsigned int threads, struct err *err);

/* Debug mode: the system call that a child which has ended was refused; false without one. */
bool child_refused(const struct child *child, char *text, size_t size);

#endif
