/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: vmrun doctor: will a run work on this host, and what weakens it (supervisor). */
#ifndef VMM_SUPERVISOR_DOCTOR_H
#define VMM_SUPERVISOR_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "supervisor/text_list.h"

/*
 * Print the report, unless QUIET, to OUT. Returns 0 when a real run will work, else 1. ERRORS is
 * for what kept it from looking.
 */
int doctor_run(bool json, bool quiet, FILE *out, struct text_list *errors);

#endif
