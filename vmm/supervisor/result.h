/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h: the last stage: result.json, schema "vmrun.result/1" (supervisor).
 *
 * doc/result.schema.json describes every field. All are always there, null when there is nothing to
 * say; but for what the guest has not said, which guest_claims leaves out. What guest and children
 * claim stands under "guest_claims" and "monitor_claims", what the host measured under
 * "host_measured".
 */
#ifndef VMM_SUPERVISOR_RESULT_H
#define VMM_SUPERVISOR_RESULT_H

#include "supervisor/outcome.h"
#include "supervisor/plan.h"
#include "supervisor/verdict.h"

/* Of files, and of skipped entries, result.json lists so many; manifest.json has all. */
enum { RESULT_ARTIFACTS_MAX = 1000 };

/*
 * The text of result.json but for the newline at its end; for json_memory_free(). NULL: no memory.
 * Of files, and of skipped entries, ARTIFACTS_MAX are listed and the rest is counted.
 */
char *result_text(const struct plan *plan, const struct outcome *outcome,
    const struct verdict *verdict, size_t artifacts_max);

/*
 * The temporary file that the result will be written into, with room on the disk for an ordinary
 * one: a task that fills the disk does not keep its verdict from being told. Returns its fd or -1.
 */
int result_reserve(int output_fd, const char *run_id, struct err *err);

/*
 * Whether all of TEXT will fit, and from here on it does. Without a list of artifacts it always
 * fits.
 */
bool result_has_room(int result_fd, const char *text);

/*
 * Write TEXT (NULL: there was no memory for it) and a newline into it, fsync, and make it
 * result.json by rename; fsync of the directory. On an error the temporary file is gone.
 */
int result_write(
    int output_fd, int result_fd, const char *run_id, const char *text, struct err *err);

#endif
