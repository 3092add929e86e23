/* SPDX-License-Identifier: Apache-2.0 */
/* pump_test.c: every byte arrives, the slow side sets the pace, and either side may go away. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "guest-agent/pump.h"
#include "tests/unit/unit.h"

enum { FLOOD_BYTES = 3 << 20 };

static struct loop loop;
static struct loop_timer timer;
static struct err err;
static struct pump *pump;
static int task_end; /* the pipe's */
static int host_end; /* the socket pair's */
static bool finished;

static void stop(void *context)
{
    loop_stop(context);
}

static void pump_finished(void *context)
{
    assert_false(finished);
    finished = true;
    loop_stop(context);
}

static void start(enum pump_kind kind)
{
    int pipe_ends[2], socket_ends[2];
    int agent_pipe, from, to;

    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends), 0);
    task_end = pipe_ends[kind == PUMP_OUTPUT];
    agent_pipe = pipe_ends[kind != PUMP_OUTPUT];
    host_end = socket_ends[0];
    from = kind == PUMP_OUTPUT ? agent_pipe : socket_ends[1];
    to = kind == PUMP_OUTPUT ? socket_ends[1] : agent_pipe;
    assert_int_equal(fd_set_nonblocking(from, &err), 0);
    assert_int_equal(fd_set_nonblocking(to, &err), 0);
    finished = false;
    pump_start(pump, &loop, kind, from, to, pump_finished, &loop, &err);
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    err = (struct err)ERR_INIT;
    pump = calloc(1, sizeof(*pump));
    timer = (struct loop_timer){.expired = stop, .context = &loop};
    return loop_init(&loop, &err);
}

static int tear_down(void **state)
{
    (void)state;
    assert_false(err_is_set(&err));
    fd_close(&pump->from_fd);
    fd_close(&pump->to_fd);
    fd_close(&task_end);
    fd_close(&host_end);
    loop_fini(&loop);
    free(pump);
    return 0;
}

static void run_ms(uint64_t ms)
{
    loop_timer_set(&loop, &timer, clock_mono_ns() + ms * NS_PER_MS);
    assert_int_equal(loop_run(&loop, &err), 0);
    loop_timer_clear(&loop, &timer);
}

/* Run until the pump ends, with a process of ours at each end. */
static void flood(int write_fd, int read_fd)
{
    static uint8_t bytes[FLOOD_BYTES], back[FLOOD_BYTES];
    pid_t pid;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 2654435761U >> 11);
    pid = fork();
    if (pid == 0) {
        fd_close(&read_fd);
        (void)fd_write_all(write_fd, bytes, sizeof(bytes));
        _exit(0);
    }
    close(write_fd);
    pid = fork();
    if (pid == 0) {
        close(pump->to_fd);                       /* else its end would never come */
        for (size_t at = 0; at < sizeof(back);) { /* a slow reader, in odd pieces */
            ssize_t count = read(read_fd, back + at, 7777);

            if (count <= 0)
                break;
            at += (size_t)count;
        }
        _exit(memcmp(bytes, back, sizeof(back)) == 0 && read(read_fd, back, 1) == 0 ? 0 : 1);
    }
    run_ms(20000);
    assert_true(finished);
}

static void expect_child_success(void)
{
    int status, waited = 0;

    for (int i = 0; i < 2; i++) {
        assert_true(wait(&status) > 0);
        waited |= status;
    }
    assert_int_equal(waited, 0);
}

static void output_arrives(void **state)
{
    (void)state;
    start(PUMP_OUTPUT);
    flood(task_end, host_end);
    task_end = -1;
    expect_child_success();
}

static void input_arrives(void **state)
{
    (void)state;
    start(PUMP_INPUT);
    flood(host_end, task_end);
    host_end = -1;
    expect_child_success();
}

static void nothing_is_read_that_does_not_fit(void **state)
{
    static char bytes[FLOOD_BYTES];
    struct timespec before, after;
    size_t sent = 0;
    ssize_t count;

    (void)state;
    start(PUMP_INPUT);
    assert_int_equal(fd_set_nonblocking(host_end, &err), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (int round = 0; round < 20; round++) {
        while ((count = write(host_end, bytes, sizeof(bytes))) > 0)
            sent += (size_t)count;
        run_ms(10);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    assert_true(sent < 1 << 20); /* pipe, buffer and socket are full, and that is all */
    /* And it waits for that without working. */
    assert_true(
        (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 < 100);
    assert_false(finished);
}

static void the_task_does_not_read(void **state)
{
    (void)state;
    start(PUMP_INPUT);
    fd_close(&task_end);
    assert_int_equal(fd_write_all(host_end, "x", 1), 0);
    run_ms(2000);
    assert_true(finished);
    assert_int_equal(pump->to_fd, -1);
}

static void the_host_does_not_read(void **state)
{
    static char bytes[FLOOD_BYTES];
    pid_t pid;
    int status;

    (void)state;
    start(PUMP_OUTPUT);
    fd_close(&host_end);
    pid = fork();
    if (pid == 0)
        _exit(fd_write_all(task_end, bytes, sizeof(bytes)) == 0 ? 0 : 1);
    fd_close(&task_end);
    run_ms(20000);
    assert_true(finished); /* all was taken from the task, and dropped */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_silent_stream_ends(void **state)
{
    char byte;

    (void)state;
    start(PUMP_OUTPUT);
    fd_close(&task_end);
    run_ms(2000);
    assert_true(finished && pump->done);
    assert_int_equal(read(host_end, &byte, 1), 0); /* shut down for the host to see */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(output_arrives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(input_arrives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_read_that_does_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_task_does_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_does_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_stream_ends, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
