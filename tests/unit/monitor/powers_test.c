/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powers_test.c: what no run on this host may show: calls that are made on other hosts only, and
 * calls that are made with other arguments. That nothing else passes is tested by tests/jail/run.
 */
#include "monitor/powers.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/jail/behind_filter.h"
#include "tests/unit/unit.h"

static bool passes(unsigned int thread, long number, const long args[4])
{
    return passes_filter(monitor_powers.threads[thread],
        thread == MONITOR_THREAD_LOOP ? SYS_exit_group : SYS_exit, number, args);
}

/* Where the clock of the host is none that the vDSO can read, clock_gettime() is a system call. */
static void every_thread_may_ask_for_the_time(void **state)
{
    static struct timespec now;
    const long clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const long args[4] = {clocks[i], (long)&now};

        assert_true(passes(MONITOR_THREAD_LOOP, SYS_clock_gettime, args));
        assert_true(passes(MONITOR_THREAD_VCPU, SYS_clock_gettime, args));
    }
}

static void a_timed_wait_may_go_on(void **state)
{
    const long args[4] = {0};

    (void)state;
    assert_true(passes(MONITOR_THREAD_LOOP, SYS_restart_syscall, args));
    assert_false(passes(MONITOR_THREAD_VCPU, SYS_restart_syscall, args)); /* it waits for no time */
}

static void a_disk_is_punched_and_nothing_else(void **state)
{
    const long modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_COLLAPSE_RANGE,
        FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
        FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE | FALLOC_FL_COLLAPSE_RANGE};
    const long punch[4] = {-1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 512};

    (void)state;
    assert_true(passes(MONITOR_THREAD_LOOP, SYS_fallocate, punch));
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        const long args[4] = {-1, modes[i], 0, 512};

        assert_false(passes(MONITOR_THREAD_LOOP, SYS_fallocate, args));
    }
}

/* Without a namespace of its own the monitor can see the user's other processes. */
static void the_kick_is_for_its_own_threads(void **state)
{
    const long kick[4] = {getpid(), -1, SIGUSR1}, other[4] = {getppid(), -1, SIGUSR1};
    const long end[4] = {getpid(), -1, SIGKILL};

    (void)state;
    assert_true(passes(MONITOR_THREAD_LOOP, SYS_tgkill, kick));
    assert_false(passes(MONITOR_THREAD_LOOP, SYS_tgkill, other));
    assert_false(passes(MONITOR_THREAD_LOOP, SYS_tgkill, end));
    assert_false(passes(MONITOR_THREAD_VCPU, SYS_tgkill, kick));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_thread_may_ask_for_the_time),
    cmocka_unit_test(a_timed_wait_may_go_on),
    cmocka_unit_test(a_disk_is_punched_and_nothing_else),
    cmocka_unit_test(the_kick_is_for_its_own_threads),
};

UNIT_MAIN(tests)
