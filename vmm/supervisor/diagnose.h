/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose.h: the facts behind a verdict, for a person (supervisor). */
#ifndef VMM_SUPERVISOR_DIAGNOSE_H
#define VMM_SUPERVISOR_DIAGNOSE_H

#include "supervisor/verdict.h"

/* Fill verdict->reason. MISSING: the required artifact that did not come, or NULL. */
void diagnose(struct verdict *verdict, const struct config *config, const struct outcome *outcome,
    const char *missing);

/*
 * For a machine that failed: registers and the last console lines, escaped, one per line of LINES
 * (struct text_list). Nothing when there is nothing to say.
 */
struct text_list;
void diagnose_machine(
    const struct verdict *verdict, const struct outcome *outcome, struct text_list *lines);

#endif
