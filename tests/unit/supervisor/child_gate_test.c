/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=proof_sealed -Wl,--wrap=jail_say -Wl,--wrap=child_sealed */
/* child_gate_test.c: a gate that cannot be opened, and what becomes of who waits at it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/proof.h"
#include "supervisor/child_jail.h"
#include "supervisor/run_jail.h"
#include "supervisor/supervise_internal.h"
#include "tests/unit/unit.h"

static int say_errno;     /* with which the supervisor's word fails */
static bool sealed_fails; /* child_sealed() as a whole */
static struct jail_ground ground = JAIL_GROUND_INIT;
static struct err err;
static int channel[2];

int __wrap_proof_sealed(pid_t pid, const struct jail_ground *on, const struct jail_order *order,
    unsigned int threads, uint32_t *controls, struct err *proof_err);
int __real_jail_say(int fd, enum jail_word word, uint32_t number, const char *text);
int __wrap_jail_say(int fd, enum jail_word word, uint32_t number, const char *text);
int __real_child_sealed(
    struct child *child, const struct jail_ground *on, unsigned int threads, struct err *seal_err);
int __wrap_child_sealed(
    struct child *child, const struct jail_ground *on, unsigned int threads, struct err *seal_err);

int __wrap_proof_sealed(pid_t pid, const struct jail_ground *on, const struct jail_order *order,
    unsigned int threads, uint32_t *controls, struct err *proof_err)
{
    (void)pid;
    (void)on;
    (void)order;
    (void)threads;
    (void)controls;
    (void)proof_err;
    return 0;
}

int __wrap_jail_say(int fd, enum jail_word word, uint32_t number, const char *text)
{
    errno = say_errno;
    return say_errno ? -1 : __real_jail_say(fd, word, number, text);
}

int __wrap_child_sealed(
    struct child *child, const struct jail_ground *on, unsigned int threads, struct err *seal_err)
{
    if (sealed_fails)
        return err_set(seal_err, "it is not in its jail");
    return __real_child_sealed(child, on, threads, seal_err);
}

static int set_up(void **state)
{
    (void)state;
    say_errno = 0;
    sealed_fails = false;
    err = (struct err)ERR_INIT;
    return jail_channel(channel, &err);
}

static int tear_down(void **state)
{
    (void)state;
    close(channel[0]);
    close(channel[1]);
    return 0;
}

/* A process that waits, as a child of the supervisor. */
static struct child start_child(void)
{
    struct child child = CHILD_INIT;

    child.name = "vmrun-test";
    child.jail = channel[0];
    child.gated = true;
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        pause();
        _exit(0);
    }
    child.pid_fd = (int)syscall(SYS_pidfd_open, child.pid, 0);
    assert_true(child.pid_fd >= 0);
    return child;
}

static int hear_sealed(struct child *child)
{
    assert_int_equal(__real_jail_say(channel[1], JAIL_SEALED, 0, NULL), 0);
    return child_sealed(child, &ground, 1, &err);
}

static void end_child(struct child *child)
{
    child_kill(child);
    child_reap(child);
    fd_close(&child->pid_fd);
}

static void a_gate_is_opened(void **state)
{
    struct child child = start_child();
    struct jail_message message;

    (void)state;
    assert_int_equal(hear_sealed(&child), 0);
    assert_false(child.gated);
    assert_int_equal(jail_hear(channel[1], &message, &err), 1);
    assert_int_equal(message.word, JAIL_GATE);
    end_child(&child);
}

static void a_gate_that_cannot_be_opened_is_an_error(void **state)
{
    struct child child = start_child();

    (void)state;
    say_errno = ENOBUFS;
    assert_int_equal(hear_sealed(&child), -1);
    assert_int_equal(err.errnum, ENOBUFS);
    assert_true(child.gated);
    end_child(&child);
}

/* Its end is seen elsewhere. */
static void nobody_waits_at_the_gate_any_more(void **state)
{
    struct child child = start_child();

    (void)state;
    child_kill(&child);
    say_errno = EPIPE;
    assert_int_equal(hear_sealed(&child), 0);
    end_child(&child);
}

static void a_scribe_out_of_its_jail_does_not_wait(void **state)
{
    static struct supervision run;
    static struct outcome outcome;
    static const struct config config;
    static const struct plan plan = {.config = &config};

    (void)state;
    assert_int_equal(loop_init(&run.loop, &err), 0);
    run.plan = &plan;
    run.outcome = &outcome;
    run.monitor = (struct child)CHILD_INIT;
    run.monitor.gated = true;
    run.scribe = start_child();
    sealed_fails = true;
    assert_int_equal(run_jail_watch(&run, &run.scribe, &run.scribe_jail, 1, &err), 0);
    run.scribe_jail.source.ready(run.scribe_jail.source.context, EPOLLIN);
    assert_int_equal(outcome.cause, CAUSE_HOST);
    assert_non_null(strstr(outcome.host_text, "not in its jail"));
    child_reap(&run.scribe); /* returns */
    assert_true(WIFSIGNALED(run.scribe.wait_status));
    fd_close(&run.scribe.pid_fd);
    loop_fini(&run.loop);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    TEST(a_gate_is_opened),
    TEST(a_gate_that_cannot_be_opened_is_an_error),
    TEST(nobody_waits_at_the_gate_any_more),
    TEST(a_scribe_out_of_its_jail_does_not_wait),
};

UNIT_MAIN(tests)
