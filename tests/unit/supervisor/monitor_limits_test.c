/* SPDX-License-Identifier: Apache-2.0 */
/* monitor_limits_test.c: the limits of a monitor are in force before it gets its setup. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "supervisor/monitor_limits.h"
#include "tests/unit/unit.h"

static struct config config = {.memory_bytes = 512 * MIB, .vcpus = 2, .boot_ns = 10 * NS_PER_S};

static uint64_t limit_of(pid_t pid, __rlimit_resource_t resource)
{
    struct rlimit limit;

    assert_int_equal(prlimit(pid, resource, NULL, &limit), 0);
    assert_true(limit.rlim_cur == limit.rlim_max);
    return limit.rlim_max;
}

static pid_t start_sleeper(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

static void end_sleeper(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void all_limits_are_set(void **state)
{
    struct err err = ERR_INIT;
    pid_t pid = start_sleeper();

    (void)state;
    assert_int_equal(monitor_limits_set(pid, &config, 123456, 7 * NS_PER_S, &err), 0);
    assert_true(limit_of(pid, RLIMIT_CORE) == 0);
    assert_true(limit_of(pid, RLIMIT_FSIZE) == 123456);
    assert_true(limit_of(pid, RLIMIT_AS) == (512 + 256 + 2 * 144) * MIB);
    assert_true(limit_of(pid, RLIMIT_NOFILE) == 68);
    assert_true(limit_of(pid, RLIMIT_CPU) == 7 + (20 + 300) * 3 + 1);
    end_sleeper(pid);
}

static void what_the_caller_limited_stays(void **state)
{
    struct rlimit tighter = {.rlim_cur = 50, .rlim_max = 50};
    struct err err = ERR_INIT;
    pid_t pid = start_sleeper();

    (void)state;
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &tighter, NULL), 0);
    assert_int_equal(monitor_limits_set(pid, &config, 1, 1, &err), 0);
    assert_true(limit_of(pid, RLIMIT_NOFILE) == 50);
    end_sleeper(pid);
}

static void a_monitor_that_is_gone_is_an_error(void **state)
{
    struct err err = ERR_INIT;
    pid_t pid = start_sleeper();

    (void)state;
    end_sleeper(pid);
    assert_int_equal(monitor_limits_set(pid, &config, 1, 1, &err), -1);
    assert_true(err_is_set(&err));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_limits_are_set),
        cmocka_unit_test(what_the_caller_limited_stays),
        cmocka_unit_test(a_monitor_that_is_gone_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
