/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h: what --check and --plan print: a task with every value resolved, and the machine and the
 * processes that a run would have (supervisor). Nothing is created and no machine is made for it.
 */
#ifndef VMM_SUPERVISOR_SHOW_H
#define VMM_SUPERVISOR_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "jail/order.h"
#include "supervisor/plan.h"

/*
 * The whole as one JSON object, vmrun.check/1, which the caller frees. PLAN was made dry.
 * MACHINE_TOO adds "plan".
 */
json_t *show_make(const struct plan *plan, bool machine_too);

/* The same for people. Each setting has its origin behind it. -1 without memory. */
int show_print(const json_t *shown, FILE *to);

/* show_plan.c: the part that --plan adds. */
json_t *show_plan_make(const struct plan *plan);
void show_plan_print(const json_t *plan, FILE *to);

/*
 * show_jail.c: what the jails are built on here (it is tried, in a process), and KIND of it; what
 * there would be of it in PROCESS, which gets ORDER; the orders of monitor, scribe and extractor.
 */
enum { SHOW_PROCESSES = 3 };
json_t *show_jail_make(const struct config *config, enum jail_ground_kind *kind);
void show_jail_of(json_t *process, const struct config *config, enum jail_ground_kind kind,
    const struct jail_order *order);
void show_jail_orders(const struct config *config, struct jail_order orders[SHOW_PROCESSES]);

#endif
