/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h: the machine stage: from a plan to an outcome (supervisor). Starts the scribe, the
 * monitor and, once the monitor is gone, the extractor; holds the deadlines; passes signals on.
 * A state table (supervise.c) says which record may come when and what a deadline means.
 */
#ifndef VMM_SUPERVISOR_SUPERVISE_H
#define VMM_SUPERVISOR_SUPERVISE_H

#include <signal.h>

#include "supervisor/disks.h"
#include "supervisor/events.h"
#include "supervisor/live.h"
#include "supervisor/outcome.h"
#include "supervisor/plan.h"
#include "supervisor/progress.h"
#include "supervisor/run_dir.h"
#include "supervisor/spawn.h"
#include "supervisor/stdin_pump.h"

enum run_state {
    STATE_BOOT,    /* the monitor has its setup */
    STATE_SETUP,   /* HELLO came: the agent prepares the task */
    STATE_TASK,    /* STARTED came */
    STATE_EXPORT,  /* EXITED came: output drains, artifacts are written */
    STATE_STOP,    /* EXPORTED came, or the monitor was told to halt */
    STATE_LEAVE,   /* ENDED came: the monitor exits */
    STATE_KILLED,  /* the monitor was sent SIGKILL */
    STATE_SALVAGE, /* the guest was lost: a second one exports what it left */
    STATE_SCRIBE,  /* no monitor is left: the scribe finishes the logs */
    STATE_EXTRACT, /* the extractor reads the export disk */
    STATE_DONE,
    STATE_COUNT,
};

/* How a run is shown while it goes on. All zero: output as it comes, and no word of ours. */
struct supervise_view {
    void (*say)(const char *text); /* narration; NULL when quiet */
    bool verbose;                  /* say what happens when */
    bool progress;                 /* a line about what goes on, where stderr is a terminal */
    enum {
        VIEW_OUTPUT, /* stdout is the task's stdout, stderr its stderr */
        VIEW_EVENTS, /* stdout is lines of JSON, events.h */
        VIEW_FILES,  /* output is in the files only */
    } output;
};

/* Where a run takes place. */
struct supervise_room {
    const struct run_dir *run_dir;    /* its lock is shared with each child; NULL in unit tests */
    const struct jail_ground *ground; /* NULL in unit tests: children without a jail */
    int output_fd;
};

/* A child on its way into its jail; run_jail.h. */
struct run_jail {
    struct supervision *run;
    struct child *child;
    struct outcome_jail *outcome;
    unsigned int threads; /* that it has, once it is sealed */
    struct loop_source source;
};

struct supervision {
    const struct plan *plan;
    struct disks *disks;
    const struct run_dir *run_dir;    /* its lock is shared with each child; NULL in unit tests */
    const struct jail_ground *ground; /* NULL in unit tests: children without a jail */
    int output_fd;
    struct supervise_view view;
    struct outcome *outcome;

    struct loop loop;
    enum run_state state;
    uint32_t records_seen;      /* kinds of records that the monitor has sent: each comes once */
    struct loop_timer deadline; /* of the state */
    struct loop_timer cpu_check, idle_check; /* supervise_limits.c; while the task runs */
    uint64_t cpu_end_ns;                     /* of the monitor's CPU clock */
    uint64_t scribe_cpu_ns;                  /* the scribe's CPU clock at the last look */
    struct child monitor, scribe, extractor;
    struct run_jail monitor_jail, scribe_jail, extractor_jail, salvager_jail;
    struct child salvager; /* the monitor of the second machine */
    struct disks salvage_disks;
    struct loop_source salvager_ipc, salvager_end;
    uint32_t salvager_seen; /* as records_seen */
    int console_fd;         /* where the second machine's console goes on; -1 for nowhere */
    struct loop_source monitor_ipc, monitor_end, scribe_ipc, scribe_end, extractor_ipc,
        extractor_end;
    struct loop_source signals;
    int signal_fd;
    int artifacts_fd;
    int log_fds[STREAM_COUNT]; /* what the scribe writes; -1: there is none */
    int signal_count;          /* requests to end so far */
    struct live live[2];
    struct events events; /* of VIEW_EVENTS */
    struct progress progress;
    struct stdin_pump stdin_pump;
};

/* INT, TERM and HUP, less those that our caller has us ignore. */
sigset_t supervise_signals(void);

/* Block INT, TERM and HUP, so that one that comes before supervise() waits for it. */
void supervise_block_signals(void);

/*
 * Run the plan. What goes wrong from here on is part of OUTCOME: there is no error to return.
 * Of DISKS only the export disk is open at the end. VIEW may be NULL. Signals INT, TERM and HUP,
 * unless they are ignored, are blocked from here on and mean: end the run.
 */
void supervise(struct supervision *run, const struct plan *plan, struct disks *disks,
    const struct supervise_room *room, struct outcome *outcome, const struct supervise_view *view);

/*
 * Hand what live output is left to readers that are slow. Ends when all is read, when nothing was
 * read for a minute, or on a signal.
 */
void supervise_drain(struct supervision *run);

void supervise_free(struct supervision *run);

#endif
