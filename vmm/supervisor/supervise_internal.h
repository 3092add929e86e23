/* SPDX-License-Identifier: Apache-2.0 */
/* supervise_internal.h: between the supervise*.c files (supervisor). */
#ifndef VMM_SUPERVISOR_SUPERVISE_INTERNAL_H
#define VMM_SUPERVISOR_SUPERVISE_INTERNAL_H

#include "base/num.h"
#include "supervisor/supervise.h"

/* Bytes of the console that are kept; it is for debugging. */
#define CONSOLE_CAP_BYTES (4 * MIB)

/* How many records of one child are taken before deadlines and other children get their turn. */
enum { RUN_RECORDS_MAX = 64 };

/* How many such turns are taken for what a dead child left behind: more than a socket holds. */
enum { RUN_LAST_TURNS_MAX = 64 };

/* Enter STATE and arm its deadline. */
void run_enter(struct supervision *run, enum run_state state);
/* Note the time of MOMENT, once. */
void run_mark(struct supervision *run, enum outcome_moment moment);
/* Narrate, unless the run is quiet. */
void run_say(struct supervision *run, const char *text);
/* End the run for CAUSE: the monitor is told to halt, and killed when it does not. */
void run_end(struct supervision *run, enum outcome_cause cause);
/* The same for what the host could not do. */
void run_fail(struct supervision *run, const struct err *err);

/* Take records of the monitor, a bounded number; true when there may be more. */
bool run_take_records(struct supervision *run);

/* supervise_signals.c. */
int run_listen_to_signals(struct supervision *run, struct err *err);
void run_signal_ready(void *context, uint32_t events);

/* supervise_start.c: scribe, monitor, pipes, live output, stdin. */
int run_start(struct supervision *run, struct err *err);
/* child_spawn() with a share of the run's lock. */
int run_spawn(const struct supervision *run, struct child *child, const char *name,
    const struct child_fd *fds, size_t fd_count, struct err *err);
/* FAILED, of the first record to a child; 0 when it failed because the child is gone already: its
 * end, which the loop sees, says more. */
int run_setup_sent(int failed, struct err *err);

/* The setup of the run's machine. */
int run_machine_setup(const struct supervision *run, const struct disks *disks, int job_fd,
    struct ipc_machine *setup, struct err *err);

/*
 * supervise_salvage.c: when the guest was lost before it could export. Due: it was, and the task
 * had begun. run_salvage_over() is called once, when no machine is left or there was to be none.
 */
bool run_salvage_due(const struct supervision *run);
int run_salvage_start(struct supervision *run, struct err *err);
void run_salvage_over(struct supervision *run);
void run_salvage_overdue(struct supervision *run);
void run_salvage_cancel(struct supervision *run);
uint64_t run_salvage_ns(const struct config *config);

/* supervise_limits.c: what the task may use, seen from outside of the guest. */
void run_limits_start(struct supervision *run);
/* Once the monitor is gone: it had used all that it may while the task runs. */
bool run_cpu_is_used_up(const struct supervision *run);
/* CPU time that the limit means, with what the guest needs besides the task. */
uint64_t run_host_cpu_ns(const struct config *config);

/* supervise_digest.c: what the run was made from; once no child is left. */
void run_digests_finish(struct supervision *run);

/* supervise_finish.c: what follows once the monitor is gone. */
void run_monitor_gone(struct supervision *run);
/* Note how large the disks of the machines became, but for export disks, and let go of them. */
void run_drop_disks(struct supervision *run);
/* No child is left: the logs are on stable storage before a result says what is in them. */
void run_logs_finish(struct supervision *run);
void run_scribe_ready(void *context, uint32_t events);
void run_scribe_ended(void *context, uint32_t events);
void run_live_changed(void *context);
void run_events_broken(void *context);
/* The deadlines of STATE_SCRIBE and STATE_EXTRACT. */
void run_scribe_overdue(struct supervision *run);
void run_extractor_overdue(struct supervision *run);

#endif
