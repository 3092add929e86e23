/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_table_test.c: the whole of verdict_rules: every event is brought about once, and has the
 * status, the limit and the two exit codes that users were told of.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "supervisor/verdict.h"
#include "tests/unit/unit.h"

/* What brings an event about in a run that is good otherwise. */
struct cause {
    uint32_t how, code, limits; /* of the task */
    enum outcome_cause cause;
    int cancel_signal;
    enum ipc_end end; /* 0: IPC_END_DONE */
    enum { WITHOUT_NOTHING, WITHOUT_TOTALS, WITHOUT_EXTRACTED, WITHOUT_ARTIFACT, REFUSED } lack;
};

struct promise {
    enum verdict_event event;
    struct cause cause;
    const char *status, *limit;
    int code, status_code;
};

#define TASK(h, c, l) .cause = {.how = WIRE_HOW_##h, .code = (c), .limits = (l)}
#define HOST(c)       .cause = {.how = WIRE_HOW_EXITED, .cause = CAUSE_##c}
#define MACHINE(e)    .cause = {.how = WIRE_HOW_EXITED, .end = IPC_END_##e}
#define LACKS(l)      .cause = {.how = WIRE_HOW_EXITED, .lack = l}

/* clang-format off */
static const struct promise promises[] = {
    {EVENT_OK, TASK(EXITED, 0, 0), "ok", NULL, 0, 0},
    {EVENT_NONZERO, TASK(EXITED, 1, 0), "nonzero", NULL, 1, 1},
    {EVENT_NONZERO, TASK(EXITED, 64, 0), "nonzero", NULL, 64, 1},
    {EVENT_NONZERO, TASK(EXITED, 255, 0), "nonzero", NULL, 255, 1},
    {EVENT_SIGNAL, TASK(SIGNALLED, SIGSEGV, 0), "signal", NULL, 139, 1},
    {EVENT_LIMIT_WALL, TASK(SIGNALLED, SIGKILL, WIRE_LIMIT_WALL), "limit", "wall", 124, 2},
    {EVENT_LIMIT_WALL_HOST, HOST(WALL_DEADLINE), "limit", "wall", 124, 2},
    {EVENT_LIMIT_CPU, TASK(SIGNALLED, SIGKILL, WIRE_LIMIT_CPU), "limit", "cpu", 124, 2},
    {EVENT_LIMIT_CPU_HOST, HOST(CPU_DEADLINE), "limit", "cpu", 124, 2},
    {EVENT_LIMIT_IDLE, TASK(SIGNALLED, SIGKILL, WIRE_LIMIT_IDLE), "limit", "idle", 124, 2},
    {EVENT_LIMIT_IDLE_HOST, HOST(IDLE_DEADLINE), "limit", "idle", 124, 2},
    {EVENT_LIMIT_MEMORY, TASK(SIGNALLED, SIGKILL, WIRE_LIMIT_MEMORY), "limit", "memory", 137, 2},
    {EVENT_LIMIT_BOOT, HOST(BOOT_DEADLINE), "limit", "boot", 124, 2},
    {EVENT_NOT_EXECUTABLE, TASK(NOT_STARTED, EACCES, 0), "start_failed", NULL, 126, 1},
    {EVENT_NOT_FOUND, TASK(NOT_FOUND, ENOENT, 0), "start_failed", NULL, 127, 1},
    {EVENT_SETUP_FAILED, TASK(SETUP_FAILED, ENOENT, 0), "start_failed", NULL, 125, 1},
    {EVENT_SETUP_SILENT, HOST(SETUP_DEADLINE), "guest_failed", NULL, 125, 3},
    {EVENT_CANCELLED, .cause = {.cause = CAUSE_CANCELLED, .cancel_signal = SIGINT},
        "cancelled", NULL, 130, 3},
    {EVENT_CANCELLED, .cause = {.cause = CAUSE_CANCELLED, .cancel_signal = SIGTERM},
        "cancelled", NULL, 143, 3},
    {EVENT_GUEST_SHUTDOWN, MACHINE(SHUTDOWN), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_FATAL, MACHINE(FATAL), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_PROTOCOL, MACHINE(PROTOCOL), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_DEVICE, MACHINE(DEVICE), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_FAIL_ENTRY, MACHINE(FAIL_ENTRY), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_INTERNAL, MACHINE(INTERNAL), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_EXIT, MACHINE(UNKNOWN_EXIT), "guest_failed", NULL, 125, 3},
    {EVENT_GUEST_SILENT_EXPORT, HOST(EXPORT_DEADLINE), "guest_failed", NULL, 125, 3},
    {EVENT_ARTIFACT_MISSING, LACKS(WITHOUT_ARTIFACT), "artifacts_failed", NULL, 125, 3},
    {EVENT_ARTIFACTS_REFUSED, LACKS(REFUSED), "artifacts_failed", NULL, 125, 3},
    {EVENT_EXTRACTOR_FAILED, LACKS(WITHOUT_EXTRACTED), "infra", NULL, 125, 3},
    {EVENT_MONITOR_FAILED, HOST(MONITOR_ENDED), "infra", NULL, 125, 3},
    {EVENT_MONITOR_FAILED, HOST(MONITOR_RULE), "infra", NULL, 125, 3},
    {EVENT_MONITOR_FAILED, HOST(STOP_DEADLINE), "infra", NULL, 125, 3},
    {EVENT_MONITOR_FAILED, MACHINE(HALTED), "infra", NULL, 125, 3},
    {EVENT_SCRIBE_FAILED, LACKS(WITHOUT_TOTALS), "infra", NULL, 125, 3},
    {EVENT_SCRIBE_FAILED, HOST(SCRIBE_ENDED), "infra", NULL, 125, 3},
    {EVENT_HOST, HOST(HOST), "infra", NULL, 125, 3},
    {EVENT_HOST, MACHINE(HOST), "infra", NULL, 125, 3},
    {EVENT_DISK, MACHINE(DISK), "infra", NULL, 125, 3},
    {EVENT_KERNEL, MACHINE(KERNEL), "infra", NULL, 125, 3},
};
/* clang-format on */

static struct outcome outcome;

static struct verdict bring_about(const struct cause *cause)
{
    struct config config = {.collect = {0}};
    struct verdict verdict;

    memset(&outcome, 0, sizeof(outcome));
    outcome.has_hello = outcome.has_started = outcome.has_exited = true;
    outcome.has_exported = outcome.has_ended = true;
    outcome.exited.how = cause->how ? cause->how : WIRE_HOW_EXITED;
    outcome.exited.code = cause->code;
    outcome.exited.limits = cause->limits;
    outcome.cause = cause->cause;
    outcome.cancel_signal = cause->cancel_signal;
    outcome.ended.cause = cause->end ? cause->end : IPC_END_DONE;
    outcome.has_totals[STREAM_STDERR] = true;
    outcome.has_totals[STREAM_STDOUT] = cause->lack != WITHOUT_TOTALS;
    outcome.extracted_due = true;
    outcome.has_extracted = cause->lack != WITHOUT_EXTRACTED;
    outcome.extracted.status = cause->lack == REFUSED ? EXTRACT_REFUSED : EXTRACT_COMPLETE;
    if (cause->lack == WITHOUT_ARTIFACT)
        text_list_add(&config.required, "chart.png");
    verdict = verdict_make(&config, &outcome);
    text_list_free(&config.required);
    return verdict;
}

static void every_event_keeps_its_promise(void **state)
{
    unsigned seen[EVENT_COUNT] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        const struct promise *promise = &promises[i];
        struct verdict verdict = bring_about(&promise->cause);

        if (verdict.event != promise->event)
            fail_msg("row %zu brought about event %d, not %d", i, verdict.event, promise->event);
        assert_string_equal(verdict.status, promise->status);
        assert_string_equal(
            verdict.limit ? verdict.limit : "none", promise->limit ? promise->limit : "none");
        if (verdict.code != promise->code || verdict.status_code != promise->status_code)
            fail_msg("row %zu: exit codes %d and %d, not %d and %d", i, verdict.code,
                verdict.status_code, promise->code, promise->status_code);
        seen[promise->event]++;
    }
    for (int event = 0; event < EVENT_COUNT; event++) {
        if (seen[event] == 0)
            fail_msg("no row for event %d (%s)", event, verdict_rules[event].text);
    }
}

/* The rule itself is complete: no event falls through to zeroes, and so to success. */
static void no_rule_is_left_out(void **state)
{
    (void)state;
    for (int event = 0; event < EVENT_COUNT; event++) {
        const struct verdict_rule *rule = &verdict_rules[event];

        assert_non_null(rule->status);
        assert_non_null(rule->text);
        assert_true((rule->status_code == STATUS_CODE_OK) == (event == EVENT_OK));
        assert_true((rule->limit != NULL) == (strcmp(rule->status, "limit") == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_keeps_its_promise),
        cmocka_unit_test(no_rule_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
