/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/supervised.c tests/unit/supervisor/fake_children.c
 *       -Wl,--wrap=clock_mono_ns,--wrap=ipc_send_machine,--wrap=fdatasync */
/* supervise_salvage_test.c: when a second machine is started, and what comes of what it says. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/supervisor/supervised.h"

/* How far the clock jumps once the second guest has said its first word. */
static uint64_t jump_ns;

uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void)
{
    bool jumped = run.state == STATE_SALVAGE && run.salvager_seen != 0;

    return __real_clock_mono_ns() + (jumped ? jump_ns : 0);
}

static bool salvager_dies_early;

int __real_ipc_send_machine(int fd, const struct ipc_machine *machine, struct err *err);
int __wrap_ipc_send_machine(int fd, const struct ipc_machine *machine, struct err *err);

int __wrap_ipc_send_machine(int fd, const struct ipc_machine *machine, struct err *err)
{
    siginfo_t end;

    if (salvager_dies_early && run.salvager.pid > 0) {
        assert_int_equal(kill(run.salvager.pid, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)run.salvager.pid, &end, WEXITED | WNOWAIT), 0);
    }
    return __real_ipc_send_machine(fd, machine, err);
}

static int (*lost_disk)(void); /* what the host cannot write back; NULL: it can */

int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    errno = EIO;
    return lost_disk && fd == lost_disk() ? -1 : 0;
}

static int scratch_disk(void)
{
    return disks.scratch;
}

static int second_export_disk(void)
{
    return run.salvage_disks.export_disk;
}

static void lose(void **state, const char *script)
{
    tear_down(state);
    set_up(state);
    config.salvage = 1;
    text_list_add(&config.collect, "a?b");
    salvage_disks_made = 0;
    supervise_script(script);
}

static void what_a_lost_guest_left_is_exported(void **state)
{
    lose(state, "lost");
    assert_verdict("guest_failed", 125); /* as without it */
    assert_int_equal(outcome.ended.cause, IPC_END_SHUTDOWN);
    assert_true(outcome.salvage.tried && outcome.salvage.exported && !outcome.has_exported);
    assert_true(outcome.has_extracted && outcome.artifact_count == 1);
    assert_int_equal(faccessat(output_fd, "artifacts/file", F_OK, 0), 0);
    assert_int_equal(salvage_disks_made, 1);
}

static void a_guest_that_the_host_ended_was_lost_too(void **state)
{
    lose(state, "ok"); /* not this one */
    assert_verdict("ok", 0);
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    config.salvage = 1;
    config.wall_ns = 100 * NS_PER_MS;
    text_list_add(&config.collect, "a?b");
    supervise_script("hang");
    assert_verdict("limit", 124);
    assert_true(outcome.salvage.exported && outcome.has_extracted);
}

static void a_second_guest_that_is_lost_too_ends_the_matter(void **state)
{
    static const struct {
        const char *script;
        const char *text;
    } cases[] = {{"lost-2", "the second guest reset itself"},
        {"lost-crash", "was killed by signal 6"}, {"lost-start", "it sent record 12 out of turn"},
        {"lost-twice", "it sent record 14 out of turn"}, {"lost-int", "the run was cancelled"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lose(state, cases[i].script);
        assert_verdict("guest_failed", 125);
        assert_true(outcome.salvage.tried && !outcome.salvage.exported);
        if (!strstr(outcome.salvage.text, cases[i].text))
            fail_msg("%s: \"%s\"", cases[i].script, outcome.salvage.text);
        assert_false(outcome.extracted_due);
        assert_true(output_has("artifacts"));
        assert_int_equal(faccessat(output_fd, "artifacts/file", F_OK, 0), -1);
    }
    lose(state, "lost-early"); /* done, it says, without having said what */
    assert_true(outcome.salvage.tried && !outcome.salvage.exported && !outcome.extracted_due);
}

/* Twice the time of a boot, half a minute, and an eighth of a second for each begun MiB. */
static void a_second_guest_that_hangs_is_killed_at_its_deadline(void **state)
{
    uint64_t before_ns = __real_clock_mono_ns(), took_ns;

    jump_ns = 2 * (30 * NS_PER_S) + 30 * NS_PER_S + 125 * NS_PER_MS - NS_PER_S;
    lose(state, "lost-hang");
    jump_ns = 0;
    took_ns = __real_clock_mono_ns() - before_ns;
    assert_true(took_ns >= 900 * NS_PER_MS && took_ns < 15 * NS_PER_S);
    assert_verdict("guest_failed", 125);
    assert_true(outcome.salvage.tried && !outcome.salvage.exported && !outcome.extracted_due);
    assert_string_equal(outcome.salvage.text, "the second guest took too long");
}

/* One log for both: the scribe sees the end of the console when the second machine is gone. */
static void both_consoles_are_kept(void **state)
{
    char text[32] = "";
    int fd;

    tear_down(state);
    set_up(state);
    config.salvage = 1;
    text_list_add(&config.collect, "a?b");
    plan.console = true;
    supervise_script("lost-loud");
    assert_true(outcome.salvage.exported && outcome.has_totals[STREAM_CONSOLE]);
    fd = openat(output_fd, "console", O_RDONLY);
    assert_int_equal(read(fd, text, sizeof(text) - 1), 13);
    assert_string_equal(text, "first\nsecond\n");
    close(fd);
}

/* What supervised.h has for the size of a disk, for each of the two. */
static void the_export_disks_of_both_are_counted(void **state)
{
    lose(state, "lost");
    assert_int_equal(outcome.export_bytes, 2 * 4096);
    lose(state, "ok");
    assert_int_equal(outcome.export_bytes, 4096);
}

/* How it ended says more than that nobody takes its setup. */
static void a_second_monitor_that_dies_early_is_told_by_its_end(void **state)
{
    salvager_dies_early = true;
    lose(state, "lost");
    salvager_dies_early = false;
    assert_verdict("guest_failed", 125);
    assert_true(outcome.salvage.tried && !outcome.salvage.exported);
    if (!strstr(outcome.salvage.text, "was killed by signal 9"))
        fail_msg("\"%s\"", outcome.salvage.text);
}

static void what_is_not_salvaged(void **state)
{
    lose(state, "lost-boot"); /* no task had begun */
    assert_false(outcome.salvage.tried);
    lose(state, "lost-disk"); /* the host's trouble would meet the second as well */
    assert_false(outcome.salvage.tried);
    lose(state, "stubborn"); /* cancelled twice: at once means at once */
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    config.salvage = 1; /* nothing is to be collected */
    supervise_script("lost");
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    text_list_add(&config.collect, "f"); /* salvage = no */
    supervise_script("lost");
    assert_false(outcome.salvage.tried);
    assert_int_equal(salvage_disks_made, 0);
}

static void what_the_host_lost_of_a_disk_is_its_own_failure(void **state)
{
    lost_disk = scratch_disk;
    lose(state, "lost");
    lost_disk = NULL;
    assert_verdict("infra", 125);
    assert_non_null(strstr(outcome.host_text, "cannot write the scratch disk: "));
    assert_true(outcome.salvage.tried && !outcome.salvage.exported && !outcome.extracted_due);
    assert_int_equal(salvage_disks_made, 0);
    lost_disk = second_export_disk;
    lose(state, "lost");
    lost_disk = NULL;
    assert_verdict("infra", 125);
    assert_non_null(strstr(outcome.host_text, "cannot write the export disk: "));
    assert_true(outcome.salvage.exported && !outcome.has_extracted);
}

static const struct CMUnitTest tests[] = {
    TEST(what_a_lost_guest_left_is_exported),
    TEST(a_guest_that_the_host_ended_was_lost_too),
    TEST(a_second_guest_that_is_lost_too_ends_the_matter),
    TEST(a_second_guest_that_hangs_is_killed_at_its_deadline),
    TEST(both_consoles_are_kept),
    TEST(the_export_disks_of_both_are_counted),
    TEST(a_second_monitor_that_dies_early_is_told_by_its_end),
    TEST(what_is_not_salvaged),
    TEST(what_the_host_lost_of_a_disk_is_its_own_failure),
};

SUPERVISED_MAIN(tests)
