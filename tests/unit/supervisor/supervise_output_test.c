/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/supervised.c tests/unit/supervisor/fake_children.c
         -Wl,--wrap=fsync */
/* supervise_output_test.c: what goes into a run and comes out of it while it goes on. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/story.h"
#include "tests/unit/supervisor/supervised.h"

static int logs_synced;
static const char *log_that_fails; /* its name in the output directory */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    static const char *const names[] = {"stdout", "stderr"};
    struct stat synced, log;

    assert_int_equal(fstat(fd, &synced), 0);
    for (size_t i = 0; i < 2; i++) {
        if (fstatat(output_fd, names[i], &log, 0) < 0 || log.st_ino != synced.st_ino)
            continue;
        assert_int_equal(run.scribe.pid, 0); /* nobody writes any more */
        logs_synced++;
        if (log_that_fails && strcmp(names[i], log_that_fails) == 0) {
            errno = EIO;
            return -1;
        }
    }
    return __real_fsync(fd);
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

static void logs_are_on_stable_storage_or_the_run_is_infra(void **state)
{
    static const char *const names[] = {NULL, "stdout", "stderr"};

    for (size_t i = 0; i < 3; i++) {
        tear_down(state);
        set_up(state);
        logs_synced = 0;
        log_that_fails = names[i];
        supervise_script("ok");
        log_that_fails = NULL;
        assert_int_equal(logs_synced, 2);
        assert_verdict(i == 0 ? "ok" : "infra", i == 0 ? 0 : 125);
        if (i > 0) {
            assert_non_null(strstr(verdict.reason, names[i]));
            assert_non_null(strstr(verdict.reason, strerror(EIO)));
        }
    }
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
    supervise(&run, &plan, &disks, &room, &outcome, &view);
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
    supervise(&run, &plan, &disks, &room, &outcome, &view);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
    verdict = verdict_make(&config, &outcome);
    assert_verdict("ok", 0);
    assert_int_equal(file_text(out), 0);
    assert_int_equal(fstatat(output_fd, "stdout", &status, 0), 0);
    assert_int_equal(status.st_size, 6);
}

static const struct CMUnitTest tests[] = {
    TEST(a_reader_that_stands_still_does_not_hold_up_the_run),
    TEST(logs_are_on_stable_storage_or_the_run_is_infra),
    TEST(stdin_comes_from_a_file_and_ends),
    TEST(events_tell_a_run_in_order),
    TEST(a_line_that_is_no_event_ends_the_run),
    TEST(a_line_without_end_ends_the_run),
    TEST(a_reader_that_stands_still_gets_whole_lines),
    TEST(output_can_be_left_to_the_files),
};

SUPERVISED_MAIN(tests)
