/* SPDX-License-Identifier: Apache-2.0 */
/*
 * story.h: a run as it is told while it goes on: --events, -v and the progress line (supervisor).
 *
 * The events, each with "event" and "time_ms" (since vmrun began), and what else they have:
 *
 *     started       schema, run_id, task, output: the directory of the results
 *     booted        guest_kernel_claimed
 *     task_started
 *     output        stream, and text or b64 or cut: see ipc.h
 *     exited        exit_code, signal: null where they do not apply; claims of the guest
 *     exported      archive_bytes: a claim
 *     done          what result.json says of the verdict, vmrun_exit_code; the last one.
 *                   lines_dropped: of output, because the reader stood still for too long
 *     error         instead of all others: there was no run; see error_json.h
 *
 * What did not happen is left out. Output may come after "exited", never after "done".
 */
#ifndef VMM_SUPERVISOR_STORY_H
#define VMM_SUPERVISOR_STORY_H

#include "supervisor/supervise.h"
#include "supervisor/verdict.h"

/* MOMENT has just come. */
void story_moment(struct supervision *run, enum outcome_moment moment);

/* What goes on right now, for progress.h. */
void story_progress(void *run, char text[PROGRESS_TEXT_BYTES]);

/* The last event of a run, which vmrun will leave with EXIT_CODE. */
void story_done(struct supervision *run, const struct verdict *verdict, int exit_code);

#endif
