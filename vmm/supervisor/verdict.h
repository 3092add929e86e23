/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h: from what happened to what it means (supervisor). One table maps every event to
 * status, limit and exit code.
 */
#ifndef VMM_SUPERVISOR_VERDICT_H
#define VMM_SUPERVISOR_VERDICT_H

#include "supervisor/config.h"
#include "supervisor/outcome.h"

enum verdict_event {
    EVENT_OK,
    EVENT_NONZERO,
    EVENT_SIGNAL,
    EVENT_LIMIT_WALL,
    EVENT_LIMIT_WALL_HOST, /* the host had to end it */
    EVENT_LIMIT_CPU,
    EVENT_LIMIT_CPU_HOST,
    EVENT_LIMIT_IDLE,
    EVENT_LIMIT_IDLE_HOST,
    EVENT_LIMIT_MEMORY,
    EVENT_LIMIT_BOOT,
    EVENT_NOT_EXECUTABLE,
    EVENT_NOT_FOUND,
    EVENT_SETUP_FAILED,
    EVENT_SETUP_SILENT,
    EVENT_CANCELLED,
    EVENT_GUEST_SHUTDOWN,
    EVENT_GUEST_FATAL,
    EVENT_GUEST_PROTOCOL,
    EVENT_GUEST_DEVICE,
    EVENT_GUEST_FAIL_ENTRY,
    EVENT_GUEST_INTERNAL,
    EVENT_GUEST_EXIT,
    EVENT_GUEST_SILENT_EXPORT,
    EVENT_ARTIFACT_MISSING,
    EVENT_ARTIFACTS_REFUSED,
    EVENT_EXTRACTOR_FAILED,
    EVENT_MONITOR_FAILED,
    EVENT_SCRIBE_FAILED,
    EVENT_HOST,
    EVENT_DISK,
    EVENT_KERNEL,
    EVENT_COUNT,
};

enum verdict_exit {
    EXIT_OF_TASK,   /* the code that it exited with */
    EXIT_OF_SIGNAL, /* 128 + the signal */
    EXIT_FIXED,
};

/* The exit code of vmrun with --exit-code=status; nothing that the task does can imitate it. */
enum verdict_status_code {
    STATUS_CODE_OK = 0,
    STATUS_CODE_TASK = 1,   /* the task failed: the same task will fail again */
    STATUS_CODE_LIMIT = 2,  /* it needs more than it was given */
    STATUS_CODE_INFRA = 3,  /* nothing is known of the task: try again, elsewhere, or look why */
    STATUS_CODE_USAGE = 64, /* command line or task file: nothing was created */
};

struct verdict_rule {
    const char *status;
    const char *limit; /* NULL: none */
    enum verdict_exit exit;
    int code; /* of EXIT_FIXED */
    enum verdict_status_code status_code;
    const char *text; /* the reason, in general */
};

extern const struct verdict_rule verdict_rules[EVENT_COUNT];

enum {
    VERDICT_LIMITS_MAX = 16,
    VERDICT_REASON_BYTES = ERR_TEXT_BYTES + 256,
    VERDICT_EXIT_VMRUN = 125
};

struct verdict {
    enum verdict_event event;
    const char *status;
    const char *limit; /* NULL: none */
    bool has_exit_code;
    int exit_code; /* of the task */
    bool has_signal;
    int signal; /* that killed the task */
    const char *limits_hit[VERDICT_LIMITS_MAX];
    size_t limit_count;
    char reason[VERDICT_REASON_BYTES]; /* one line, printable */
    int code;                          /* of the vmrun process, as in the table */
    int status_code;                   /* the same with --exit-code=status */
};

/* What OUTCOME means for the task in CONFIG. */
struct verdict verdict_make(const struct config *config, const struct outcome *outcome);

#endif
