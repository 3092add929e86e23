/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/supervised.c tests/unit/supervisor/fake_children.c */
/* supervise_test.c: the states of a run, with children that behave and children that do not. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/output_dir.h"
#include "tests/unit/supervisor/supervised.h"

static void a_run_in_order_is_ok(void **state)
{
    uint8_t digest[DIGEST_BYTES];
    char log[16] = "";
    AUTO_FD int fd = -1;

    (void)state;
    supervise_script("ok");
    assert_verdict("ok", 0);
    for (int i = 0; i < MOMENT_COUNT; i++)
        assert_true(outcome.moments_ns[i] > 0);
    for (int i = MOMENT_HELLO; i < MOMENT_COUNT; i++)
        assert_true(outcome.moments_ns[i] >= outcome.moments_ns[i - 1]);
    fd = openat(output_fd, "stdout", O_RDONLY);
    assert_int_equal(read(fd, log, sizeof(log)), 6);
    assert_string_equal(log, "# out\n");
    assert_true(output_has("artifacts") && !output_has("console"));
    assert_true(outcome.monitor_reaped && outcome.monitor_usage.ru_maxrss > 0);
    digest_memory(digest, "ok", 2);
    assert_memory_equal(outcome.kernel_digest.sha256, digest, sizeof(digest));
}

static void children_get_exactly_their_fds(void **state)
{
    AUTO_FD int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */

    (void)state;
    assert_true(leak >= 0);
    setenv("LEAK", "1", 1);
    signal(SIGRTMAX, SIG_IGN);
    supervise_script("leaks");
    signal(SIGRTMAX, SIG_DFL);
    assert_verdict("ok", 0);
}

static void deadlines_end_a_run(void **state)
{
    uint64_t begin = clock_mono_ns();

    (void)state;
    config.boot_ns = 400 * NS_PER_MS;
    supervise_script("silent");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "boot");
    assert_true(clock_mono_ns() - begin < 10 * NS_PER_S);
}

static void the_host_ends_a_task_that_the_guest_does_not(void **state)
{
    (void)state;
    config.wall_ns = 100 * NS_PER_MS;
    supervise_script("hang");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "wall");
    assert_true(outcome.has_ended);
}

static uint64_t timeval_ms(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

static void a_busy_guest_is_ended_by_its_cpu_time(void **state)
{
    uint64_t begin = clock_mono_ns();

    (void)state;
    config.wall_ns = config.idle_ns = 60 * NS_PER_S;
    config.cpu_ns = 100 * NS_PER_MS;
    supervise_script("busy");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "cpu");
    assert_int_equal(outcome.cause, CAUSE_CPU_DEADLINE);
    assert_true(clock_mono_ns() - begin < 50 * NS_PER_S);
    assert_true(
        timeval_ms(outcome.monitor_usage.ru_utime) + timeval_ms(outcome.monitor_usage.ru_stime) >=
        2125);
}

static void a_limit_of_the_monitor_itself_is_cpu_time_too(void **state)
{
    (void)state;
    config.wall_ns = config.idle_ns = 60 * NS_PER_S;
    config.cpu_ns = 100 * NS_PER_MS;
    supervise_script("spent");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "cpu");
}

/* Its signal says nothing; the time that it used does. */
static void a_monitor_cannot_fake_its_limit(void **state)
{
    (void)state;
    supervise_script("sigxcpu");
    assert_verdict("infra", 125);
}

static void a_silent_guest_is_ended(void **state)
{
    uint64_t begin = clock_mono_ns();

    (void)state;
    config.wall_ns = 60 * NS_PER_S;
    config.idle_ns = 300 * NS_PER_MS;
    supervise_script("hang");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "idle");
    assert_true(clock_mono_ns() - begin < 10 * NS_PER_S);
}

/* For longer than silence may last, and past the cap of the log. */
static void a_guest_that_talks_is_not_silent(void **state)
{
    (void)state;
    config.wall_ns = 60 * NS_PER_S;
    config.idle_ns = 300 * NS_PER_MS;
    config.stdout_bytes = 1;
    supervise_script("talk");
    assert_verdict("ok", 0);
    assert_true(outcome.totals[STREAM_STDOUT].total_bytes == 6 + 14 * 2);
}

static void the_digest_of_an_image_is_learnt_once(void **state)
{
    uint8_t computed[DIGEST_BYTES];

    memset(computed, 7, sizeof(computed));
    supervise_script("ok"); /* others may write it, say */
    assert_false(outcome.image_digest.known);
    tear_down(state);
    set_up(state);
    image_lasts = true;
    supervise_script("ok");
    assert_true(outcome.image_digest.known);
    assert_memory_equal(outcome.image_digest.sha256, computed, sizeof(computed));
    tear_down(state);
    set_up(state);
    plan.image_digest_known = true; /* remembered, or asked for */
    supervise_script("ok");
    assert_true(outcome.image_digest.known && outcome.image_digest.sha256[0] == 0);
    tear_down(state);
    set_up(state);
    supervise_script("term"); /* no task, and somebody waits */
    assert_false(outcome.image_digest.known);
    image_lasts = false;
}

static void a_deaf_monitor_is_killed(void **state)
{
    (void)state;
    config.wall_ns = 100 * NS_PER_MS;
    supervise_script("deaf");
    assert_verdict("limit", 124);
    assert_false(outcome.has_ended);
    assert_int_equal(WTERMSIG(outcome.monitor_status), SIGKILL);
}

static void a_signal_is_passed_to_the_task(void **state)
{
    (void)state;
    supervise_script("cancel");
    assert_verdict("cancelled", 130);
    assert_true(outcome.has_exited && outcome.has_exported);
}

static void a_signal_during_boot_ends_the_run(void **state)
{
    (void)state;
    supervise_script("term");
    assert_verdict("cancelled", 143);
}

static void a_signal_that_is_ignored_stays_ignored(void **state)
{
    sigset_t term;

    (void)state;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    config.boot_ns = 400 * NS_PER_MS;
    signal(SIGTERM, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &term, NULL); /* as the test before left it */
    supervise_script("term");
    signal(SIGTERM, SIG_DFL);
    assert_verdict("limit", 124);
}

static void a_second_signal_kills(void **state)
{
    uint64_t begin = clock_mono_ns();

    (void)state;
    supervise_script("stubborn");
    assert_verdict("cancelled", 130);
    assert_int_equal(WTERMSIG(outcome.monitor_status), SIGKILL);
    assert_true(clock_mono_ns() - begin < 10 * NS_PER_S);
}

static char said[4][200];
static unsigned said_count;

static void note(const char *text)
{
    assert_true(said_count < 4);
    snprintf(said[said_count++], sizeof(said[0]), "%s", text);
}

/* The monitor is gone, the scribe does not finish; there is something to extract. */
static void a_second_signal_ends_a_scribe_as_well(void **state)
{
    const struct supervise_view view = {.say = note};
    uint64_t begin = clock_mono_ns();

    (void)state;
    said_count = 0;
    config.stdout_bytes = SCRIBE_IS_STUCK;
    text_list_add(&config.collect, "a?b");
    assert_int_equal(write(plan.kernel_fd, "ok", 2), 2);
    supervise(&run, &plan, &disks, &room, &outcome, &view);
    verdict = verdict_make(&config, &outcome);
    assert_true(clock_mono_ns() - begin < 8 * NS_PER_S);
    assert_verdict("cancelled", 130);
    assert_true(outcome.has_exited && !outcome.has_extracted);
    assert_int_equal(run.signal_count, 2);
    assert_int_equal(run.extractor.pid, 0);
    assert_false(faccessat(output_fd, "artifacts/file", F_OK, 0) == 0);
    assert_int_equal(said_count, 1);
    assert_non_null(strstr(said[0], "has ended already"));
}

static void a_monitor_that_fails_is_infra(void **state)
{
    static const char *const scripts[] = {"crash", "early", "past", "disk", "repeat"};

    for (size_t i = 0; i < 5; i++) {
        supervise_script(scripts[i]);
        assert_verdict("infra", 125);
        tear_down(state);
        set_up(state);
    }
}

static void a_scribe_that_fails_is_infra(void **state)
{
    config.stdout_bytes = SCRIBE_DIES_AT_ONCE;
    supervise_script("ok");
    assert_verdict("infra", 125);
    assert_non_null(strstr(verdict.reason, "vmrun-scribe exited with 7"));
    tear_down(state);
    set_up(state);
    config.stdout_bytes = SCRIBE_SAYS_NOTHING;
    supervise_script("ok");
    assert_verdict("infra", 125);
    assert_non_null(strstr(verdict.reason, "vmrun-scribe exited with 0"));
    tear_down(state);
    set_up(state);
    config.stdout_bytes = SCRIBE_LEAVES_A_CHILD;
    supervise_script("ok");
    assert_verdict("infra", 125);
}

static void artifacts_are_published_by_a_rename(void **state)
{
    (void)state;
    text_list_add(&config.collect, "a?b");
    supervise_script("ok");
    assert_verdict("ok", 0);
    assert_true(output_has("artifacts/file") && !output_has(".artifacts.run-1.partial"));
    assert_int_equal(outcome.artifact_count, 1);
    assert_memory_equal(outcome.artifacts[0].name,
        "a\xff"
        "b",
        3);
}

static void refused_artifacts_are_removed(void **state)
{
    static const struct {
        uint64_t files;
        const char *status;
    } cases[] = {{EXTRACTOR_REFUSES, "artifacts_failed"}, {EXTRACTOR_CRASHES, "infra"},
        {EXTRACTOR_REPEATS_ITSELF, "infra"}};

    for (size_t i = 0; i < 3; i++) {
        text_list_add(&config.collect, "x");
        config.artifacts_files = cases[i].files;
        supervise_script("ok");
        assert_verdict(cases[i].status, 125);
        assert_true(output_has("artifacts") && !output_has("artifacts/file"));
        assert_false(output_has(".artifacts.run-1.partial"));
        tear_down(state);
        set_up(state);
    }
}

static void an_extractor_that_never_ends_is_killed(void **state)
{
    (void)state;
    text_list_add(&config.collect, "x");
    config.artifacts_files = EXTRACTOR_NEVER_ENDS;
    supervise_script("ok");
    assert_verdict("infra", 125);
    assert_string_equal(outcome.extractor_end, "the extractor reported more entries than it may");
    assert_int_equal(outcome.artifact_count, 2 * EXTRACTOR_NEVER_ENDS);
}

/* It says that all is well, and is not believed. */
static void what_an_extractor_must_not_make_is_not_published(void **state)
{
    static const uint64_t cases[] = {EXTRACTOR_SETS_ID, EXTRACTOR_LINKS};

    for (size_t i = 0; i < 2; i++) {
        text_list_add(&config.collect, "a?b");
        config.artifacts_files = cases[i];
        supervise_script("ok");
        assert_verdict("infra", 125);
        assert_true(output_has("artifacts") && !output_has("artifacts/file"));
        tear_down(state);
        set_up(state);
    }
}

static void an_output_directory_is_for_one_run(void **state)
{
    AUTO_FREE char *out = text_format("%s/out", root);
    struct err err = ERR_INIT;
    bool created;

    (void)state;
    assert_int_equal(output_create(out, &created, &err), -1); /* set_up() has it */
}

static const struct CMUnitTest tests[] = {
    TEST(a_run_in_order_is_ok),
    TEST(children_get_exactly_their_fds),
    TEST(deadlines_end_a_run),
    TEST(the_host_ends_a_task_that_the_guest_does_not),
    TEST(a_busy_guest_is_ended_by_its_cpu_time),
    TEST(a_limit_of_the_monitor_itself_is_cpu_time_too),
    TEST(a_monitor_cannot_fake_its_limit),
    TEST(a_silent_guest_is_ended),
    TEST(a_guest_that_talks_is_not_silent),
    TEST(the_digest_of_an_image_is_learnt_once),
    TEST(a_deaf_monitor_is_killed),
    TEST(a_signal_is_passed_to_the_task),
    TEST(a_signal_during_boot_ends_the_run),
    TEST(a_signal_that_is_ignored_stays_ignored),
    TEST(a_second_signal_kills),
    TEST(a_second_signal_ends_a_scribe_as_well),
    TEST(a_monitor_that_fails_is_infra),
    TEST(a_scribe_that_fails_is_infra),
    TEST(artifacts_are_published_by_a_rename),
    TEST(refused_artifacts_are_removed),
    TEST(an_extractor_that_never_ends_is_killed),
    TEST(what_an_extractor_must_not_make_is_not_published),
    TEST(an_output_directory_is_for_one_run),
};

SUPERVISED_MAIN(tests)
