/* SPDX-License-Identifier: Apache-2.0 */
/* error_json.h: what kept vmrun from a result, for programs: --json (supervisor). */
#ifndef VMM_SUPERVISOR_ERROR_JSON_H
#define VMM_SUPERVISOR_ERROR_JSON_H

#include "supervisor/text_list.h"

/*
 * One JSON object, vmrun.errors/1, for json_memory_free(); NULL without memory: every line of
 * ERRORS as "text" and, where the line is about a place of the task file CONFIG (may be NULL),
 * "file", "line", "section", "key" and "message" apart; null where they do not apply. EXIT_CODE is
 * vmrun's. AS_EVENT: on one line, as the only event of a run that never was.
 */
char *error_json(const struct text_list *errors, const char *config, int exit_code, bool as_event);

#endif
