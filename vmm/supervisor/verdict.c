/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c: see verdict.h. What it judges are claims of the guest and of the children. */
#include "supervisor/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "supervisor/artifacts.h"
#include "supervisor/diagnose.h"

enum { VMRUN = VERDICT_EXIT_VMRUN };

/* clang-format off */
const struct verdict_rule verdict_rules[EVENT_COUNT] = {
    [EVENT_OK] = {"ok", NULL, EXIT_FIXED, 0, STATUS_CODE_OK, "the task exited with 0"},
    [EVENT_NONZERO] = {"nonzero", NULL, EXIT_OF_TASK, 0, STATUS_CODE_TASK,
        "the task exited with an error"},
    [EVENT_SIGNAL] = {"signal", NULL, EXIT_OF_SIGNAL, 0, STATUS_CODE_TASK,
        "the task was killed by a signal"},
    [EVENT_LIMIT_WALL] = {"limit", "wall", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task reached its time limit"},
    [EVENT_LIMIT_WALL_HOST] = {"limit", "wall", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task reached its time limit and the guest did not end it: the host did"},
    [EVENT_LIMIT_CPU] = {"limit", "cpu", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task reached its CPU time limit"},
    [EVENT_LIMIT_CPU_HOST] = {"limit", "cpu", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task reached its CPU time limit and the guest did not end it: the host did"},
    [EVENT_LIMIT_IDLE] = {"limit", "idle", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task wrote nothing for as long as its limit allows"},
    [EVENT_LIMIT_IDLE_HOST] = {"limit", "idle", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the task wrote nothing for too long and the guest did not end it: the host did"},
    [EVENT_LIMIT_MEMORY] = {"limit", "memory", EXIT_FIXED, 137, STATUS_CODE_LIMIT,
        "the task reached its memory limit"},
    [EVENT_LIMIT_BOOT] = {"limit", "boot", EXIT_FIXED, 124, STATUS_CODE_LIMIT,
        "the guest did not boot in time"},
    [EVENT_NOT_EXECUTABLE] = {"start_failed", NULL, EXIT_FIXED, 126, STATUS_CODE_TASK,
        "the command cannot be executed"},
    [EVENT_NOT_FOUND] = {"start_failed", NULL, EXIT_FIXED, 127, STATUS_CODE_TASK,
        "the command was not found"},
    [EVENT_SETUP_FAILED] = {"start_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_TASK,
        "the task could not be set up"},
    [EVENT_SETUP_SILENT] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the guest booted, but did not start the task in time"},
    [EVENT_CANCELLED] = {"cancelled", NULL, EXIT_OF_SIGNAL, 0, STATUS_CODE_INFRA,
        "the run was cancelled"},
    [EVENT_GUEST_SHUTDOWN] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the guest reset itself: a kernel panic, a triple fault or a reboot"},
    [EVENT_GUEST_FATAL] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the agent could not go on"},
    [EVENT_GUEST_PROTOCOL] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the guest broke the protocol with the host"},
    [EVENT_GUEST_DEVICE] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the guest broke a device"},
    [EVENT_GUEST_FAIL_ENTRY] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the processor refused to enter the guest"},
    [EVENT_GUEST_INTERNAL] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "KVM could not emulate what the guest did"},
    [EVENT_GUEST_EXIT] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the guest left KVM for a reason that a running guest does not have"},
    [EVENT_GUEST_SILENT_EXPORT] = {"guest_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the task ended, but the guest did not finish in time"},
    [EVENT_ARTIFACT_MISSING] = {"artifacts_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "a required artifact is missing"},
    [EVENT_ARTIFACTS_REFUSED] = {"artifacts_failed", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the artifacts were refused"},
    [EVENT_EXTRACTOR_FAILED] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the artifacts could not be written"},
    [EVENT_MONITOR_FAILED] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the monitor failed"},
    [EVENT_SCRIBE_FAILED] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the output could not be recorded"},
    [EVENT_HOST] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "vmrun could not do its job"},
    [EVENT_DISK] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "a disk of the run could not be read or written on the host"},
    [EVENT_KERNEL] = {"infra", NULL, EXIT_FIXED, VMRUN, STATUS_CODE_INFRA,
        "the kernel or its initramfs cannot be booted"},
};
/* clang-format on */

/* What the supervisor itself ended the run for. */
static bool event_of_cause(const struct outcome *outcome, enum verdict_event *event)
{
    static const enum verdict_event events[] = {
        [CAUSE_BOOT_DEADLINE] = EVENT_LIMIT_BOOT,
        [CAUSE_SETUP_DEADLINE] = EVENT_SETUP_SILENT,
        [CAUSE_WALL_DEADLINE] = EVENT_LIMIT_WALL_HOST,
        [CAUSE_CPU_DEADLINE] = EVENT_LIMIT_CPU_HOST,
        [CAUSE_IDLE_DEADLINE] = EVENT_LIMIT_IDLE_HOST,
        [CAUSE_EXPORT_DEADLINE] = EVENT_GUEST_SILENT_EXPORT,
        [CAUSE_STOP_DEADLINE] = EVENT_MONITOR_FAILED,
        [CAUSE_CANCELLED] = EVENT_CANCELLED,
        [CAUSE_MONITOR_ENDED] = EVENT_MONITOR_FAILED,
        [CAUSE_MONITOR_RULE] = EVENT_MONITOR_FAILED,
        [CAUSE_SCRIBE_ENDED] = EVENT_SCRIBE_FAILED,
        [CAUSE_HOST] = EVENT_HOST,
    };

    if (outcome->cause == CAUSE_NONE)
        return false;
    *event = events[outcome->cause];
    return true;
}

/* How the monitor says that the machine ended, when it did not end well. */
static bool event_of_end(const struct outcome *outcome, enum verdict_event *event)
{
    static const enum verdict_event events[] = {
        [IPC_END_HALTED] = EVENT_MONITOR_FAILED, /* nobody asked: a cause would be set */
        [IPC_END_FATAL] = EVENT_GUEST_FATAL,
        [IPC_END_SHUTDOWN] = EVENT_GUEST_SHUTDOWN,
        [IPC_END_FAIL_ENTRY] = EVENT_GUEST_FAIL_ENTRY,
        [IPC_END_INTERNAL] = EVENT_GUEST_INTERNAL,
        [IPC_END_UNKNOWN_EXIT] = EVENT_GUEST_EXIT,
        [IPC_END_PROTOCOL] = EVENT_GUEST_PROTOCOL,
        [IPC_END_DEVICE] = EVENT_GUEST_DEVICE,
        [IPC_END_HOST] = EVENT_HOST,
        [IPC_END_DISK] = EVENT_DISK,
        [IPC_END_KERNEL] = EVENT_KERNEL,
    };

    if (!outcome->has_ended || outcome->ended.cause == IPC_END_DONE)
        return false;
    *event = events[outcome->ended.cause];
    return true;
}

/* What the agent says of the task. */
static enum verdict_event event_of_task(const struct wire_exited *exited)
{
    if (exited->how == WIRE_HOW_NOT_FOUND)
        return EVENT_NOT_FOUND;
    if (exited->how == WIRE_HOW_NOT_STARTED)
        return EVENT_NOT_EXECUTABLE;
    if (exited->how == WIRE_HOW_SETUP_FAILED)
        return EVENT_SETUP_FAILED;
    if (exited->limits & WIRE_LIMIT_WALL)
        return EVENT_LIMIT_WALL;
    if (exited->limits & WIRE_LIMIT_CPU)
        return EVENT_LIMIT_CPU;
    if (exited->limits & WIRE_LIMIT_IDLE)
        return EVENT_LIMIT_IDLE;
    /* The whole task is killed, but a main process that had ended before has its own verdict. */
    if ((exited->limits & WIRE_LIMIT_MEMORY) && exited->how == WIRE_HOW_SIGNALLED &&
        exited->code == SIGKILL)
        return EVENT_LIMIT_MEMORY;
    if (exited->how == WIRE_HOW_SIGNALLED)
        return EVENT_SIGNAL;
    return exited->code == 0 ? EVENT_OK : EVENT_NONZERO;
}

/* The first required path that did not come; NULL when all did. */
static const char *missing_artifact(const struct config *config, const struct outcome *outcome)
{
    for (size_t i = 0; i < config->required.count; i++) {
        if (!artifacts_have(outcome, config->required.items[i]))
            return config->required.items[i];
    }
    return NULL;
}

/* The verdict of a task that is ok but for its artifacts. */
static enum verdict_event event_of_artifacts(
    const struct config *config, const struct outcome *outcome)
{
    if (outcome->extracted_due && !outcome->has_extracted)
        return EVENT_EXTRACTOR_FAILED;
    if (outcome->has_extracted && outcome->extracted.status == EXTRACT_FAILED)
        return EVENT_EXTRACTOR_FAILED;
    if (outcome->has_extracted && outcome->extracted.status == EXTRACT_REFUSED)
        return EVENT_ARTIFACTS_REFUSED;
    return missing_artifact(config, outcome) ? EVENT_ARTIFACT_MISSING : EVENT_OK;
}

static bool scribe_failed(const struct outcome *outcome)
{
    for (int i = STREAM_STDOUT; i <= STREAM_STDERR; i++) {
        if (!outcome->has_totals[i] || outcome->totals[i].error)
            return true;
    }
    return false;
}

/*
 * In order of what must not be hidden: the host's own failures, what ended the machine, the task. A
 * task that failed by itself keeps its own verdict when its artifacts are missing too.
 */
static enum verdict_event event_of(const struct config *config, const struct outcome *outcome)
{
    enum verdict_event event;

    if (outcome->has_ended &&
        (outcome->ended.cause == IPC_END_HOST || outcome->ended.cause == IPC_END_DISK))
        return outcome->ended.cause == IPC_END_HOST ? EVENT_HOST : EVENT_DISK;
    if (event_of_cause(outcome, &event) || event_of_end(outcome, &event))
        return event;
    if (scribe_failed(outcome))
        return EVENT_SCRIBE_FAILED;
    if (!outcome->has_exited || !outcome->has_exported)
        return EVENT_MONITOR_FAILED; /* DONE without them */
    event = event_of_task(&outcome->exited);
    if (event == EVENT_OK)
        event = event_of_artifacts(config, outcome);
    return event;
}

static void verdict_add_limit(struct verdict *verdict, const char *limit)
{
    for (size_t i = 0; i < verdict->limit_count; i++) {
        if (strcmp(verdict->limits_hit[i], limit) == 0)
            return;
    }
    must(verdict->limit_count < VERDICT_LIMITS_MAX);
    verdict->limits_hit[verdict->limit_count++] = limit;
}

/* Something was left out for a cap of [artifacts]. */
static bool artifacts_over_cap(const struct outcome *outcome)
{
    static const char *const caps[] = {
        "no_space", "too_many_files", "file_too_big", "total_too_big", "too_deep"};

    for (size_t i = 0; i < outcome->artifact_count; i++) {
        for (size_t cap = 0; cap < sizeof(caps) / sizeof(caps[0]); cap++) {
            if (strcmp(outcome->artifacts[i].reason, caps[cap]) == 0)
                return true;
        }
    }
    return false;
}

static void verdict_collect_limits(struct verdict *verdict, const struct outcome *outcome)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } claims[] = {{WIRE_LIMIT_WALL, "wall"}, {WIRE_LIMIT_CPU, "cpu"}, {WIRE_LIMIT_MEMORY, "memory"},
        {WIRE_LIMIT_PROCESSES, "processes"}, {WIRE_LIMIT_IDLE, "idle"}, {WIRE_LIMIT_DISK, "disk"},
        {WIRE_LIMIT_INODES, "inodes"}};
    static const char *const streams[] = {"stdout", "stderr"};

    if (verdict->limit)
        verdict_add_limit(verdict, verdict->limit);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        if (outcome->has_exited && (outcome->exited.limits & claims[i].bit))
            verdict_add_limit(verdict, claims[i].name);
    }
    for (int i = STREAM_STDOUT; i <= STREAM_STDERR; i++) {
        if (outcome->has_totals[i] &&
            outcome->totals[i].kept_bytes < outcome->totals[i].total_bytes)
            verdict_add_limit(verdict, streams[i]);
    }
    if ((outcome->has_exported && outcome->exported.error == ENOSPC) ||
        (outcome->salvage.exported && outcome->salvage.claims.error == ENOSPC) ||
        artifacts_over_cap(outcome))
        verdict_add_limit(verdict, "artifacts");
}

static void verdict_set_exit(
    struct verdict *verdict, const struct verdict_rule *rule, const struct outcome *outcome)
{
    if (outcome->has_exited && outcome->exited.how == WIRE_HOW_EXITED) {
        verdict->has_exit_code = true;
        verdict->exit_code = (int)outcome->exited.code;
    }
    if (outcome->has_exited && outcome->exited.how == WIRE_HOW_SIGNALLED) {
        verdict->has_signal = true;
        verdict->signal = (int)outcome->exited.code;
    }
    verdict->status_code = (int)rule->status_code;
    verdict->code = rule->code;
    if (rule->exit == EXIT_OF_TASK)
        verdict->code = verdict->exit_code;
    if (rule->exit == EXIT_OF_SIGNAL)
        verdict->code =
            128 + (verdict->event == EVENT_CANCELLED ? outcome->cancel_signal : verdict->signal);
}

struct verdict verdict_make(const struct config *config, const struct outcome *outcome)
{
    struct verdict verdict = {.event = event_of(config, outcome)};
    const struct verdict_rule *rule = &verdict_rules[verdict.event];

    verdict.status = rule->status;
    verdict.limit = rule->limit;
    verdict_set_exit(&verdict, rule, outcome);
    verdict_collect_limits(&verdict, outcome);
    diagnose(&verdict, config, outcome, missing_artifact(config, outcome));
    return verdict;
}
