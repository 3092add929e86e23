/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.h: the stage between the machine and the result: what happened, as it was seen
 * (supervisor). Nothing is judged here: verdict.c does that, in one place.
 *
 * Claims (what the guest or a child said) and what the supervisor itself saw are apart.
 */
#ifndef VMM_SUPERVISOR_OUTCOME_H
#define VMM_SUPERVISOR_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "ipc/ipc.h"
#include "jail/cgroup.h"
#include "wire/wire.h"

/* Why the supervisor itself ended the run; the first reason stays. */
enum outcome_cause {
    CAUSE_NONE = 0,
    CAUSE_BOOT_DEADLINE,   /* no HELLO in time */
    CAUSE_SETUP_DEADLINE,  /* HELLO, but no start of the task in time */
    CAUSE_WALL_DEADLINE,   /* the guest did not end the task itself */
    CAUSE_EXPORT_DEADLINE, /* the task ended, but its files did not come */
    CAUSE_STOP_DEADLINE,   /* everything came, but the monitor did not stop */
    CAUSE_CANCELLED,       /* by a signal to the supervisor */
    CAUSE_MONITOR_ENDED,   /* without a word */
    CAUSE_MONITOR_RULE,    /* a record that it must not send */
    CAUSE_SCRIBE_ENDED,    /* early, or without totals */
    CAUSE_CPU_DEADLINE,    /* the guest did not end the task itself, as with CAUSE_WALL_DEADLINE */
    CAUSE_IDLE_DEADLINE,   /* the same */
    CAUSE_HOST,            /* host_text says what could not be done */
};

enum outcome_moment {
    MOMENT_BEGIN,   /* of main() */
    MOMENT_SPAWN,   /* the monitor has its setup */
    MOMENT_RUNNING, /* first KVM_RUN; the time is the monitor's claim */
    MOMENT_HELLO,
    MOMENT_STARTED,
    MOMENT_EXITED,
    MOMENT_EXPORTED,
    MOMENT_ENDED, /* the monitor said its last word: its vCPUs stand still */
    MOMENT_GONE, /* the monitor has ended */
    MOMENT_DONE, /* logs closed, artifacts checked */
    MOMENT_COUNT,
};

struct outcome_artifact {
    uint32_t kind; /* enum ipc_entry_kind */
    uint32_t mode;
    uint64_t size;
    uint8_t sha256[IPC_DIGEST_BYTES];
    uint32_t type; /* enum artifact_type */
    char reason[32];
    char *exported; /* FILE, DIR: path below artifacts/ */
    size_t name_bytes;
    uint8_t *name; /* from the guest; not terminated */
};

/* Of a file that the run was made from. */
struct outcome_digest {
    bool known;
    bool changed; /* the file was written while the run went on: what ran is not known */
    uint8_t sha256[IPC_DIGEST_BYTES];
};

enum {
    OUTCOME_JAIL_MONITOR,
    OUTCOME_JAIL_SCRIBE,
    OUTCOME_JAIL_EXTRACTOR,
    OUTCOME_JAIL_SALVAGER, /* the monitor of the second machine */
    OUTCOME_JAILS,
};

struct outcome_jail {
    bool proven;       /* all that is due was read back, and its gate was opened */
    uint32_t controls; /* enum jail_control */
};

/* That of all children together; see jail/cgroup.h. */
struct outcome_cgroup {
    enum jail_cgroup_kind kind;
    bool active; /* with LIMITS, each read back */
    struct jail_cgroup_limits limits;
    char unused[ERR_TEXT_BYTES]; /* why it is not */
};

/* A second machine that was to export what the first left. */
struct outcome_salvage {
    bool tried;
    bool exported;
    struct wire_exported claims; /* of EXPORTED */
    char text[ERR_TEXT_BYTES];   /* why there is nothing; bytes of the guest in it are escaped */
};

struct outcome {
    uint64_t moments_ns[MOMENT_COUNT]; /* CLOCK_MONOTONIC; 0: it did not come to that */
    uint64_t began_real_ns;            /* CLOCK_REALTIME of MOMENT_BEGIN */

    enum outcome_cause cause;
    int cancel_signal; /* of CAUSE_CANCELLED */
    char host_text[ERR_TEXT_BYTES];

    /* Claims. */
    bool has_hello, has_started, has_exited, has_exported, has_ended;
    struct wire_hello hello;
    struct wire_started started;
    struct wire_exited exited;
    struct wire_exported exported;
    struct ipc_ended ended;
    bool has_totals[STREAM_COUNT];
    struct ipc_stream_totals totals[STREAM_COUNT];
    struct outcome_artifact *artifacts;
    size_t artifact_count;
    bool extracted_due; /* the extractor was to run */
    bool has_extracted;
    struct ipc_extracted extracted;
    struct outcome_salvage salvage;
    char extractor_end[128]; /* how it ended, when it did not finish */

    /* Seen by the host. */
    bool monitor_reaped;
    int monitor_status;
    char monitor_end[128];
    struct rusage monitor_usage;
    uint32_t jail_kind; /* enum jail_ground_kind; 0: it did not come to that */
    uint32_t jail_uid;  /* of the children, on this host */
    struct outcome_jail jails[OUTCOME_JAILS];
    struct outcome_cgroup cgroup;
    uint64_t monitor_own_rss_bytes; /* without guest RAM; 0: could not be read */
    uint64_t scratch_bytes, export_bytes, import_bytes;
    struct outcome_digest kernel_digest, image_digest;
};

void outcome_free(struct outcome *outcome);

/* One more artifact, as ENTRY says, or on error none. */
int outcome_add_artifact(struct outcome *outcome, const struct ipc_entry *entry, struct err *err);

/* Milliseconds from one moment to another; false when one of them never came. */
bool outcome_span_ms(
    const struct outcome *outcome, enum outcome_moment from, enum outcome_moment to, double *ms);

#endif
