/* SPDX-License-Identifier: Apache-2.0 */
/* root.h: steps of jail_enter() that change what a process is (children; see jail.c). */
#ifndef VMM_JAIL_ROOT_H
#define VMM_JAIL_ROOT_H

#include <stdbool.h>

#include "base/err.h"
#include "jail/order.h"
#include "jail/powers.h"

/* The root directory becomes an empty one that cannot be written; needs a mount namespace. */
int root_empty(struct err *err);

/* The user and group of ORDER, when it is JAIL_ROOT; no capability, in any set, ever again. */
int creds_drop(const struct jail_order *order, struct err *err);

/*
 * Nothing of the file system but what the rows of POWERS name; no TCP port, no abstract socket and
 * no signal to the outside where the kernel can do that. That it holds was tried. Returns the ABI
 * that confines the process, 0 with a kernel without Landlock, or -1.
 */
int landlock_confine(const struct powers *powers, struct err *err);

/* Whether Landlock keeps the calling process from reading "/", which nothing else does. */
bool landlock_holds(void);

/* ABI of Landlock here; 0 without. */
int landlock_abi(void);

#endif
