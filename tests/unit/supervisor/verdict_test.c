/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_test.c: every event has its status, limit and exit code; the worse one is not hidden. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/diagnose.h"
#include "supervisor/verdict.h"
#include "tests/unit/unit.h"

static struct config config;
static struct outcome outcome;
static struct verdict verdict;

/* A run without a fault: the task exited with CODE, or as HOW says. */
static void good_run(uint32_t how, uint32_t code, uint32_t limits)
{
    text_list_free(&config.required);
    memset(&outcome, 0, sizeof(outcome));
    outcome.has_hello = outcome.has_started = outcome.has_exited = outcome.has_exported = true;
    outcome.exited = (struct wire_exited){.how = how, .code = code, .limits = limits};
    outcome.has_ended = true;
    outcome.ended.cause = IPC_END_DONE;
    outcome.has_totals[STREAM_STDOUT] = outcome.has_totals[STREAM_STDERR] = true;
}

static void assert_verdict(const char *status, const char *limit, int code)
{
    verdict = verdict_make(&config, &outcome);
    assert_string_equal(verdict.status, status);
    if (limit)
        assert_string_equal(verdict.limit, limit);
    else
        assert_null(verdict.limit);
    assert_int_equal(verdict.code, code);
    assert_true(verdict.reason[0] != '\0');
}

static void assert_reason(const char *part)
{
    if (!strstr(verdict.reason, part))
        fail_msg("\"%s\" lacks \"%s\"", verdict.reason, part);
}

static void what_the_task_does_comes_back(void **state)
{
    (void)state;
    good_run(WIRE_HOW_EXITED, 0, 0);
    assert_verdict("ok", NULL, 0);
    assert_true(verdict.has_exit_code && verdict.exit_code == 0 && !verdict.has_signal);
    good_run(WIRE_HOW_EXITED, 3, 0);
    assert_verdict("nonzero", NULL, 3);
    assert_reason("exit code 3");
    good_run(WIRE_HOW_EXITED, 125, 0);
    assert_verdict("nonzero", NULL, 125);
    good_run(WIRE_HOW_SIGNALLED, SIGSEGV, 0);
    assert_verdict("signal", NULL, 139);
    assert_true(verdict.has_signal && verdict.signal == SIGSEGV && !verdict.has_exit_code);
    good_run(WIRE_HOW_SIGNALLED, SIGKILL, 0);
    assert_verdict("signal", NULL, 137);
}

static void starts_that_fail_say_what_failed(void **state)
{
    (void)state;
    good_run(WIRE_HOW_NOT_FOUND, ENOENT, 0);
    strcpy(outcome.exited.text, "no\033such");
    assert_verdict("start_failed", NULL, 127);
    assert_reason("no\\x1bsuch: No such file or directory");
    assert_false(verdict.has_exit_code || verdict.has_signal);
    good_run(WIRE_HOW_NOT_STARTED, EACCES, 0);
    assert_verdict("start_failed", NULL, 126);
    good_run(WIRE_HOW_SETUP_FAILED, ENOENT, 0);
    assert_verdict("start_failed", NULL, 125);
}

static void limits_are_told_from_failures(void **state)
{
    (void)state;
    good_run(WIRE_HOW_SIGNALLED, SIGKILL, WIRE_LIMIT_WALL);
    assert_verdict("limit", "wall", 124);
    good_run(WIRE_HOW_SIGNALLED, SIGKILL, WIRE_LIMIT_CPU);
    assert_verdict("limit", "cpu", 124);
    good_run(WIRE_HOW_EXITED, 0, WIRE_LIMIT_IDLE); /* it caught SIGTERM */
    assert_verdict("limit", "idle", 124);
    assert_int_equal(verdict.limit_count, 1);
    good_run(WIRE_HOW_EXITED, 1, WIRE_LIMIT_DISK | WIRE_LIMIT_INODES);
    assert_verdict("nonzero", NULL, 1);
    assert_string_equal(verdict.limits_hit[0], "disk");
    assert_string_equal(verdict.limits_hit[1], "inodes");
    good_run(WIRE_HOW_SIGNALLED, SIGKILL, WIRE_LIMIT_MEMORY);
    assert_verdict("limit", "memory", 137);
    assert_int_equal(verdict.limit_count, 1);
    /* A main process that ended before what it left behind was killed. */
    good_run(WIRE_HOW_EXITED, 4, WIRE_LIMIT_MEMORY | WIRE_LIMIT_PROCESSES);
    assert_verdict("nonzero", NULL, 4);
    assert_int_equal(verdict.limit_count, 2);
    assert_string_equal(verdict.limits_hit[0], "memory");
    assert_string_equal(verdict.limits_hit[1], "processes");
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.totals[STREAM_STDERR].total_bytes = 1;
    outcome.exported.error = ENOSPC;
    assert_verdict("ok", NULL, 0);
    assert_string_equal(verdict.limits_hit[0], "stderr");
    assert_string_equal(verdict.limits_hit[1], "artifacts");
}

static void deadlines_and_signals_of_the_host(void **state)
{
    static const struct {
        enum outcome_cause cause;
        const char *status, *limit;
        int code;
    } cases[] = {{CAUSE_BOOT_DEADLINE, "limit", "boot", 124},
        {CAUSE_SETUP_DEADLINE, "guest_failed", NULL, 125},
        {CAUSE_WALL_DEADLINE, "limit", "wall", 124}, {CAUSE_CPU_DEADLINE, "limit", "cpu", 124},
        {CAUSE_IDLE_DEADLINE, "limit", "idle", 124},
        {CAUSE_EXPORT_DEADLINE, "guest_failed", NULL, 125},
        {CAUSE_STOP_DEADLINE, "infra", NULL, 125}, {CAUSE_CANCELLED, "cancelled", NULL, 130},
        {CAUSE_MONITOR_ENDED, "infra", NULL, 125}, {CAUSE_MONITOR_RULE, "infra", NULL, 125},
        {CAUSE_SCRIBE_ENDED, "infra", NULL, 125}, {CAUSE_HOST, "infra", NULL, 125}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        good_run(WIRE_HOW_EXITED, 0, 0);
        outcome.cause = cases[i].cause;
        outcome.cancel_signal = SIGINT;
        outcome.ended.cause = IPC_END_HALTED;
        assert_verdict(cases[i].status, cases[i].limit, cases[i].code);
    }
    outcome.cause = CAUSE_CANCELLED;
    outcome.cancel_signal = SIGTERM;
    assert_verdict("cancelled", NULL, 143);
}

static void ends_of_the_machine(void **state)
{
    static const struct {
        enum ipc_end end;
        const char *status;
    } cases[] = {{IPC_END_FATAL, "guest_failed"}, {IPC_END_SHUTDOWN, "guest_failed"},
        {IPC_END_FAIL_ENTRY, "guest_failed"}, {IPC_END_INTERNAL, "guest_failed"},
        {IPC_END_UNKNOWN_EXIT, "guest_failed"}, {IPC_END_PROTOCOL, "guest_failed"},
        {IPC_END_DEVICE, "guest_failed"}, {IPC_END_HOST, "infra"}, {IPC_END_DISK, "infra"},
        {IPC_END_HALTED, "infra"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        good_run(WIRE_HOW_EXITED, 0, 0);
        outcome.ended.cause = cases[i].end;
        strcpy(outcome.ended.text, "said\n");
        assert_verdict(cases[i].status, NULL, 125);
    }
    /* The host's own trouble is not hidden behind the deadline that it made the guest miss. */
    outcome.ended.cause = IPC_END_DISK;
    outcome.cause = CAUSE_WALL_DEADLINE;
    assert_verdict("infra", NULL, 125);
    assert_reason("said\\n");
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.ended.cause = IPC_END_INTERNAL;
    outcome.ended.detail[0] = 1;
    assert_verdict("guest_failed", NULL, 125);
    assert_reason("suberror 1, an instruction could not be emulated");
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.ended.cause = IPC_END_FATAL;
    outcome.ended.detail[0] = EIO;
    strcpy(outcome.ended.text, "cannot mount /task");
    assert_verdict("guest_failed", NULL, 125);
    assert_reason("cannot mount /task: Input/output error)");
    strcpy(outcome.ended.text, "cannot mount: Input/output error"); /* it says so itself */
    assert_verdict("guest_failed", NULL, 125);
    assert_reason("(cannot mount: Input/output error)");
    outcome.ended.detail[0] = 1ULL << 32 | EIO; /* a claim */
    strcpy(outcome.ended.text, "said");
    assert_verdict("guest_failed", NULL, 125);
    assert_reason("(said)");
}

static void promises_that_were_not_kept_are_infra(void **state)
{
    (void)state;
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.has_totals[STREAM_STDOUT] = false;
    assert_verdict("infra", NULL, 125);
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.totals[STREAM_STDOUT].error = ENOSPC;
    assert_verdict("infra", NULL, 125);
    assert_reason("stdout: No space left on device");
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.has_exported = false;
    assert_verdict("infra", NULL, 125);
}

static void artifacts_count_once_the_task_is_ok(void **state)
{
    uint8_t name[] = "out/chart.png";
    struct outcome_artifact artifact = {.kind = ENTRY_FILE, .name = name, .name_bytes = 13};

    (void)state;
    good_run(WIRE_HOW_EXITED, 0, 0);
    text_list_add(&config.required, "out/chart.png");
    outcome.extracted_due = outcome.has_extracted = true;
    outcome.extracted.status = EXTRACT_COMPLETE;
    assert_verdict("artifacts_failed", NULL, 125);
    assert_reason("out/chart.png");
    outcome.artifacts = &artifact;
    outcome.artifact_count = 1;
    assert_verdict("ok", NULL, 0);
    artifact.kind = ENTRY_SKIPPED;
    assert_verdict("artifacts_failed", NULL, 125);
    artifact.kind = ENTRY_FILE;
    text_list_free(&config.required);
    text_list_add(&config.required, "out");
    assert_verdict("ok", NULL, 0);
    text_list_free(&config.required);
    text_list_add(&config.required, "out/chart");
    assert_verdict("artifacts_failed", NULL, 125);
    /* The task's own failure is what a person wants to know first. */
    outcome.exited.code = 3;
    assert_verdict("nonzero", NULL, 3);
    outcome.exited.code = 0;
    text_list_free(&config.required);
    outcome.extracted.status = EXTRACT_REFUSED;
    assert_verdict("artifacts_failed", NULL, 125);
    strcpy(outcome.extracted.text, "\"a\\x0ab\": \x1b\n"); /* the name is escaped already */
    assert_verdict("artifacts_failed", NULL, 125);
    assert_reason("(\"a\\x0ab\": \\x1b\\x0a)");
    outcome.extracted.status = EXTRACT_FAILED;
    assert_verdict("infra", NULL, 125);
    outcome.has_extracted = false;
    assert_verdict("infra", NULL, 125);
}

static void machine_facts_are_shown_escaped(void **state)
{
    struct text_list lines = {0};

    (void)state;
    good_run(WIRE_HOW_EXITED, 0, 0);
    outcome.ended.cause = IPC_END_SHUTDOWN;
    outcome.ended.rip = 0x1234;
    memcpy(outcome.ended.console_tail, "one\r\n\033[2Jtwo", 12);
    outcome.ended.console_bytes = 12;
    verdict = verdict_make(&config, &outcome);
    diagnose_machine(&verdict, &outcome, &lines);
    assert_int_equal(lines.count, 3);
    assert_non_null(strstr(lines.items[0], "rip 0000000000001234"));
    assert_string_equal(lines.items[1], "  console: one");
    assert_string_equal(lines.items[2], "  console: \\x1b[2Jtwo");
    text_list_free(&lines);
}

/* No event is without a rule. */
static void the_table_is_whole(void **state)
{
    (void)state;
    for (int i = 0; i < EVENT_COUNT; i++) {
        assert_non_null(verdict_rules[i].status);
        assert_non_null(verdict_rules[i].text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_the_task_does_comes_back),
    cmocka_unit_test(starts_that_fail_say_what_failed),
    cmocka_unit_test(limits_are_told_from_failures),
    cmocka_unit_test(deadlines_and_signals_of_the_host),
    cmocka_unit_test(ends_of_the_machine),
    cmocka_unit_test(promises_that_were_not_kept_are_infra),
    cmocka_unit_test(artifacts_count_once_the_task_is_ok),
    cmocka_unit_test(machine_facts_are_shown_escaped),
    cmocka_unit_test(the_table_is_whole),
};

UNIT_MAIN(tests)
