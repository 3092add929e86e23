/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: vmm/supervisor/supervise.c vmm/supervisor/supervise_start.c */
/* LINK: vmm/supervisor/supervise_limits.c vmm/supervisor/supervise_signals.c */
/* LINK: vmm/supervisor/supervise_finish.c vmm/supervisor/spawn.c vmm/supervisor/live.c */
/* LINK: vmm/supervisor/sink.c vmm/supervisor/stdin_pump.c vmm/supervisor/terminal_filter.c */
/* LINK: vmm/supervisor/output_dir.c vmm/supervisor/remove_tree.c vmm/supervisor/run_dir.c */
/* LINK: vmm/supervisor/monitor_rss.c vmm/supervisor/job_pack.c */
/* LINK: vmm/supervisor/outcome.c vmm/supervisor/verdict.c vmm/supervisor/diagnose.c */
/* LINK: vmm/supervisor/events.c vmm/supervisor/event_guard.c vmm/supervisor/progress.c */
/* LINK: vmm/supervisor/story.c vmm/supervisor/result.c vmm/supervisor/result_parts.c */
/* LINK: vmm/supervisor/text_list.c tests/unit/supervisor/fake_children.c vmm/wire/wire.c */
/* LINK: vmm/wire/job.c vmm/ipc/ipc.c vmm/ipc/record.c vmm/base/clock.c vmm/base/cursor.c */
/* LINK: vmm/base/err.c vmm/base/fd.c vmm/base/loop.c vmm/base/text.c -ljansson -lcrypto */
/* supervise_test.c: the states of a run, with children that behave and children that do not. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/monitor_limits.h"
#include "supervisor/output_dir.h"
#include "supervisor/story.h"
#include "supervisor/supervise.h"
#include "supervisor/verdict.h"
#include "tests/unit/supervisor/fake_children.h"
#include "tests/unit/unit.h"

static char root[64];
static struct config config;
static struct plan plan;
static struct disks disks;
static struct outcome outcome;
static struct supervision run;
static struct verdict verdict;
static int output_fd = -1;
static char any_text[] = "x";

/* disks.c stays out: what it makes are files without a name. */
int disk_create(const struct plan *unused, struct err *err)
{
    int fd = memfd_create("disk", MFD_CLOEXEC);

    (void)unused;
    return fd < 0 ? err_sys(err, "memfd_create") : fd;
}

/* monitor_limits.c too: a sanitizer takes more address space than a monitor may have. */
int monitor_limits_set(
    pid_t pid, const struct config *unused, uint64_t disk_bytes, uint64_t cpu_ns, struct err *err)
{
    (void)unused;
    return pid > 0 && disk_bytes == 4096 && cpu_ns > 0 ? 0 : err_set(err, "bad limits");
}

uint64_t disk_allocated_bytes(int fd)
{
    return fd < 0 ? 0 : 4096;
}

/* The three names beside each other, all this executable. */
static void make_programs(void)
{
    static const char *const names[] = {"vmrun-monitor", "vmrun-scribe", "vmrun-extractor"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(length > 0);
    self[length] = '\0';
    plan.programs_fd = open(root, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(symlinkat(self, plan.programs_fd, names[i]), 0);
}

static int set_up(void **state)
{
    AUTO_FREE char *out = NULL;
    struct err err = ERR_INIT;

    (void)state;
    strcpy(root, "/tmp/supervise_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    memset(&config, 0, sizeof(config));
    text_list_add(&config.argv, "true");
    config.path = config.workdir = config.hostname = any_text;
    /* Far away on a busy machine too; a test that waits for one sets its own. */
    config.boot_ns = 30 * NS_PER_S;
    config.wall_ns = config.idle_ns = 30 * NS_PER_S;
    config.cpu_ns = 30 * NS_PER_S;
    config.vcpus = 1;
    config.stdout_bytes = config.stderr_bytes = 4 << 20;
    config.artifacts_files = 10;
    memset(&plan, 0, sizeof(plan));
    memset(&outcome, 0, sizeof(outcome));
    make_programs();
    out = text_format("%s/out", root);
    output_fd = output_create(out, &err);
    plan.config = &config;
    plan.disk_dir_fd = output_fd;
    plan.kvm_fd = open("/dev/null", O_RDWR);
    plan.initramfs_fd = plan.image_fd = plan.kvm_fd;
    plan.kernel_fd = memfd_create("script", 0);
    plan.stdin_fd = -1;
    strcpy(plan.run_id, "run-1");
    disks = (struct disks){.scratch = memfd_create("d", 0),
        .export_disk = memfd_create("e", 0),
        .export_readonly = open("/dev/null", O_RDONLY),
        .import = -1};
    assert_int_equal(ftruncate(disks.scratch, 4096), 0);
    outcome.moments_ns[MOMENT_BEGIN] = clock_mono_ns();
    return 0;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    supervise_free(&run);
    outcome_free(&outcome);
    text_list_free(&config.argv);
    text_list_free(&config.collect);
    fd_close(&disks.scratch);
    fd_close(&disks.export_disk);
    fd_close(&disks.export_readonly);
    fd_close(&plan.kvm_fd);
    fd_close(&plan.kernel_fd);
    fd_close(&plan.stdin_fd);
    fd_close(&plan.programs_fd);
    fd_close(&output_fd);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return system(command);
}

/* Run SCRIPT with what the test has put into config. */
static void supervise_script(const char *script)
{
    assert_int_equal(fd_write_all(plan.kernel_fd, script, strlen(script)), 0);
    supervise(&run, &plan, &disks, NULL, output_fd, &outcome, NULL);
    verdict = verdict_make(&config, &outcome);
}

static void assert_verdict(const char *status, int code)
{
    if (strcmp(verdict.status, status) != 0 || verdict.code != code)
        fail_msg("%s, %d (%s) where %s, %d was due", verdict.status, verdict.code, verdict.reason,
            status, code);
}

static bool output_has(const char *name)
{
    return faccessat(output_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_run_in_order_is_ok(void **state)
{
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
}

static void children_get_exactly_their_fds(void **state)
{
    AUTO_FD int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */

    (void)state;
    assert_true(leak >= 0);
    setenv("LEAK", "1", 1);
    supervise_script("leaks");
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
    supervise_script("sigxcpu");
    assert_verdict("limit", 124);
    assert_string_equal(verdict.limit, "cpu");
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
    tear_down(state);
    set_up(state);
    config.stdout_bytes = SCRIBE_SAYS_NOTHING;
    supervise_script("ok");
    assert_verdict("infra", 125);
    tear_down(state);
    set_up(state);
    config.stdout_bytes = SCRIBE_LEAVES_A_CHILD;
    supervise_script("ok");
    assert_verdict("infra", 125);
}

static void artifacts_are_published_by_a_rename(void **state)
{
    (void)state;
    text_list_add(&config.collect, "x");
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

/* The reader of our stdout takes nothing until the run is over. */
static void a_reader_that_stands_still_does_not_hold_up_the_run(void **state)
{
    uint64_t begin = clock_mono_ns();
    int saved = dup(STDOUT_FILENO), ends[2];
    pid_t reader;
    int status;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(ends[1]);
    supervise_script("flood");
    assert_true(clock_mono_ns() - begin < 20 * NS_PER_S);
    reader = fork();
    if (reader == 0) {
        static char block[65536];
        size_t total = 0;
        ssize_t count;

        while (total < 256 * 4096 && (count = read(ends[0], block, sizeof(block))) > 0)
            total += (size_t)count;
        _exit(total != 256 * 4096);
    }
    supervise_drain(&run);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
    close(ends[0]);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    assert_verdict("ok", 0);
    assert_true(outcome.totals[STREAM_STDOUT].total_bytes == 256 * 4096);
}

static void stdin_comes_from_a_file_and_ends(void **state)
{
    char bytes[100001];
    int saved = dup(STDOUT_FILENO);

    (void)state;
    assert_int_equal(dup2(plan.kvm_fd, STDOUT_FILENO), STDOUT_FILENO); /* /dev/null */
    memset(bytes, '\n', sizeof(bytes));
    plan.stdin_fd = memfd_create("stdin", 0);
    assert_int_equal(fd_write_all(plan.stdin_fd, bytes, sizeof(bytes)), 0);
    assert_int_equal(lseek(plan.stdin_fd, 0, SEEK_SET), 0);
    config.stdin_kind = STDIN_FILE;
    supervise_script("cat");
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
    assert_verdict("ok", 0);
    assert_true(outcome.totals[STREAM_STDOUT].total_bytes == sizeof(bytes));
}

static void an_output_directory_is_for_one_run(void **state)
{
    AUTO_FREE char *out = text_format("%s/out", root);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(output_create(out, &err), -1); /* set_up() has it */
}

/* ---- --events: the fake scribe passes on as a line whatever the fake monitor reads as stdin ----
 */

/* Run with LINES as what the scribe shows; stdout is OUT, a file or a pipe, until
 * supervise_drain().
 */
static void run_events(const char *lines, int out)
{
    const struct supervise_view view = {.output = VIEW_EVENTS};
    int saved = dup(STDOUT_FILENO);

    plan.stdin_fd = memfd_create("stdin", 0);
    assert_int_equal(fd_write_all(plan.stdin_fd, lines, strlen(lines)), 0);
    assert_int_equal(lseek(plan.stdin_fd, 0, SEEK_SET), 0);
    config.stdin_kind = STDIN_FILE;
    assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(fd_write_all(plan.kernel_fd, "cat", 3), 0);
    supervise(&run, &plan, &disks, NULL, output_fd, &outcome, &view);
    verdict = verdict_make(&config, &outcome);
    story_done(&run, &verdict, verdict.code);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
}

/* Every line of the SIZE bytes at TEXT is an object; the names of the events, joined by blanks. */
static char *event_names(const char *text, size_t size)
{
    char *names = text_clone("", 0);

    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        json_t *object;
        char *longer;

        assert_non_null(end);
        object = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        assert_true(json_is_real(json_object_get(object, "time_ms")));
        longer = text_format("%s%s%s", names, names[0] ? " " : "",
            json_string_value(json_object_get(object, "event")));
        free(names);
        names = longer;
        json_decref(object);
        size -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return names;
}

static char event_text[1 << 22];

static size_t file_text(int fd)
{
    ssize_t size = fd_pread_all(fd, event_text, sizeof(event_text) - 1, 0);

    assert_true(size >= 0);
    event_text[size] = '\0';
    return (size_t)size;
}

static void events_tell_a_run_in_order(void **state)
{
    AUTO_FD int out = memfd_create("out", MFD_CLOEXEC);
    AUTO_FREE char *names = NULL;

    (void)state;
    run_events("\"text\":\"hi\\n\"\n\"b64\":\"AQI=\"\n", out);
    supervise_drain(&run);
    assert_verdict("ok", 0);
    names = event_names(event_text, file_text(out));
    /* Output comes by another way than the lifecycle: only its own order is promised. */
    assert_memory_equal(names, "started booted task_started ", 28);
    assert_string_equal(names + strlen(names) - 5, " done");
    assert_non_null(strstr(event_text, "\"stream\":\"stdout\",\"text\":\"hi\\n\"}\n"));
    assert_non_null(strstr(event_text, "\"b64\":\"AQI=\"}\n"));
    assert_true(strstr(names, "exited") && strstr(names, "exported"));
}

static void a_line_that_is_no_event_ends_the_run(void **state)
{
    static const char *const lines[] = {"# out\n", "\"text\":\"\",\"event\":\"done\"\n", "\n",
        "\"text\":\"ok\"\n\"text\":\"\033[2J\"\n"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        AUTO_FD int out = memfd_create("out", MFD_CLOEXEC);
        AUTO_FREE char *names = NULL;

        run_events(lines[i], out);
        supervise_drain(&run);
        assert_verdict("infra", 125);
        names = event_names(event_text, file_text(out));
        assert_string_equal(names + strlen(names) - 5, " done");
        assert_ptr_equal(strstr(names, "done"), names + strlen(names) - 4); /* one */
        tear_down(state);
        set_up(state);
    }
}

static void a_line_without_end_ends_the_run(void **state)
{
    AUTO_FD int out = memfd_create("out", MFD_CLOEXEC);
    AUTO_FREE char *lines = malloc(IPC_EVENT_LINE_BYTES + 2);

    (void)state;
    assert_non_null(lines);
    memset(lines, 'x', IPC_EVENT_LINE_BYTES + 1);
    lines[IPC_EVENT_LINE_BYTES + 1] = '\0';
    run_events(lines, out);
    assert_verdict("infra", 125);
}

/* A process that copies what it reads from FD to OUT, up to the last event. */
static pid_t begin_to_read(int fd, int out)
{
    pid_t reader = fork();
    size_t size = 0;
    ssize_t count;

    if (reader != 0)
        return reader;
    while ((count = read(fd, event_text + size, sizeof(event_text) - 1 - size)) > 0) {
        fd_write_all(out, event_text + size, (size_t)count);
        size += (size_t)count;
        if (event_text[size - 1] == '\n' && strstr(event_text, "\"lines_dropped\""))
            _exit(0);
    }
    _exit(1);
}

/* Nobody reads, and the spool is too small: lines are missing then, but none is half there. */
static void a_reader_that_stands_still_gets_whole_lines(void **state)
{
    static char lines[200000];
    AUTO_FD int out = memfd_create("out", MFD_CLOEXEC);
    AUTO_FREE char *names = NULL;
    int ends[2], status;
    pid_t reader;

    (void)state;
    for (size_t at = 0; at + 32 < sizeof(lines); at += strlen(lines + at))
        strcpy(lines + at, "\"text\":\"xyz\"\n");
    config.stdout_bytes = config.stderr_bytes = 1000;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    run_events(lines, ends[1]);
    assert_verdict("ok", 0);
    assert_true(run.live[0].dropped_lines > 0);
    memset(event_text, 0, sizeof(event_text));
    reader = begin_to_read(ends[0], out);
    supervise_drain(&run);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
    names = event_names(event_text, file_text(out));
    assert_string_equal(names + strlen(names) - 5, " done");
    assert_non_null(strstr(names, "output output"));
}

/* --json: nothing of the task's on stdout and stderr, the files have it. */
static void output_can_be_left_to_the_files(void **state)
{
    const struct supervise_view view = {.output = VIEW_FILES};
    AUTO_FD int out = memfd_create("out", MFD_CLOEXEC);
    int saved = dup(STDOUT_FILENO);
    struct stat status;

    (void)state;
    assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(fd_write_all(plan.kernel_fd, "ok", 2), 0);
    supervise(&run, &plan, &disks, NULL, output_fd, &outcome, &view);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
    verdict = verdict_make(&config, &outcome);
    assert_verdict("ok", 0);
    assert_int_equal(file_text(out), 0);
    assert_int_equal(fstatat(output_fd, "stdout", &status, 0), 0);
    assert_int_equal(status.st_size, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    TEST(a_run_in_order_is_ok),
    TEST(children_get_exactly_their_fds),
    TEST(deadlines_end_a_run),
    TEST(the_host_ends_a_task_that_the_guest_does_not),
    TEST(a_busy_guest_is_ended_by_its_cpu_time),
    TEST(a_limit_of_the_monitor_itself_is_cpu_time_too),
    TEST(a_silent_guest_is_ended),
    TEST(a_guest_that_talks_is_not_silent),
    TEST(a_deaf_monitor_is_killed),
    TEST(a_signal_is_passed_to_the_task),
    TEST(a_signal_during_boot_ends_the_run),
    TEST(a_signal_that_is_ignored_stays_ignored),
    TEST(a_second_signal_kills),
    TEST(a_monitor_that_fails_is_infra),
    TEST(a_scribe_that_fails_is_infra),
    TEST(artifacts_are_published_by_a_rename),
    TEST(refused_artifacts_are_removed),
    TEST(an_extractor_that_never_ends_is_killed),
    TEST(a_reader_that_stands_still_does_not_hold_up_the_run),
    TEST(stdin_comes_from_a_file_and_ends),
    TEST(an_output_directory_is_for_one_run),
    TEST(events_tell_a_run_in_order),
    TEST(a_line_that_is_no_event_ends_the_run),
    TEST(a_line_without_end_ends_the_run),
    TEST(a_reader_that_stands_still_gets_whole_lines),
    TEST(output_can_be_left_to_the_files),
};

int main(int argc, char **argv)
{
    (void)argc;
    fake_child(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
