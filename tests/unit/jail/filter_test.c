/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_test.c: a table of system calls becomes a program that says what the table says, for every
 * number. What the kernel makes of such programs is tested by tests/jail/run.
 */
#include <seccomp.h>
#include <sys/syscall.h>

#include "base/filter_arch.h"
#include "jail/filter.h"
#include "tests/unit/bpf.h"

enum { NUMBERS = 600 };

static const struct powers_call calls[] = {
    POWERS_CALL_IF(ioctl, "one request", {POWERS_IS, 1, 0xae80}),
    POWERS_CALL(read, "a test"),
    POWERS_CALL_IF(mmap, "without 4, and as 2", {POWERS_LACKS, 2, 4}, {POWERS_IS, 3, 2}),
    POWERS_CALL_IF(mmap, "or as 7, whatever else", {POWERS_IS, 3, 7}),
    {-1, "unknown", "no such call here", {{POWERS_ANY, 0, 0}}},
    POWERS_CALL(close, "a test"),
    POWERS_END,
};
static const struct powers_call arch_calls[] = {
    POWERS_CALL(write, "a test"),
    POWERS_END,
};
static const struct powers_thread thread = {
    .name = "test", .calls = calls, .arch_calls = arch_calls};
static struct filter filter;

static int set_up(void **state)
{
    (void)state;
    filter_make(&thread, false, &filter);
    return 0;
}

static uint32_t verdict_of(struct seccomp_data data)
{
    unsigned steps = 0;

    return bpf_run(filter.program.filter, filter.program.len, &data, &steps);
}

static bool allowed(int number, uint64_t arg1, uint64_t arg2, uint64_t arg3)
{
    uint32_t verdict = verdict_of(
        (struct seccomp_data){.nr = number, .arch = FILTER_ARCH, .args = {0, arg1, arg2, arg3}});

    assert_true(verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_KILL_PROCESS);
    return verdict == SECCOMP_RET_ALLOW;
}

static void what_is_listed_is_allowed(void **state)
{
    unsigned count = 0;

    (void)state;
    for (int number = 0; number < NUMBERS; number++)
        count += allowed(number, 0, 0, 0);
    assert_int_equal(count, 3);
    assert_true(allowed(SYS_read, ~0ULL, ~0ULL, ~0ULL));
    assert_true(allowed(SYS_close, ~0ULL, ~0ULL, ~0ULL));
    assert_true(allowed(SYS_write, ~0ULL, ~0ULL, ~0ULL));
    assert_false(allowed(-1, 0, 0, 0));
}

static void conditions_look_at_the_lower_half(void **state)
{
    const uint64_t upper = 5ULL << 32;

    (void)state;
    assert_true(allowed(SYS_ioctl, 0xae80, 0, 0));
    assert_true(allowed(SYS_ioctl, upper | 0xae80, 0, 0));
    assert_false(allowed(SYS_ioctl, 0xae7f, 0, 0));
    assert_false(allowed(SYS_ioctl, 0xae81, 0, 0));
    assert_false(allowed(SYS_ioctl, 0xae80ULL << 32, 0, 0));
    assert_true(allowed(SYS_mmap, 0, 3, 2));
    assert_true(allowed(SYS_mmap, 0, upper | 3, upper | 2));
}

/* Conditions of one row hold together; rows of one call are alternatives. */
static void conditions_and_alternatives(void **state)
{
    (void)state;
    assert_false(allowed(SYS_mmap, 0, 4, 2));
    assert_false(allowed(SYS_mmap, 0, 7, 2));
    assert_false(allowed(SYS_mmap, 0, 3, 1));
    assert_false(allowed(SYS_mmap, 0, 3, 3));
    assert_true(allowed(SYS_mmap, 0, 3, 7));
    assert_true(allowed(SYS_mmap, 0, 7, 7));
    assert_false(allowed(SYS_mmap, 0, 7, 6));
}

static void other_doors_are_closed(void **state)
{
    (void)state;
    for (int number = 0; number < NUMBERS; number++) {
        struct seccomp_data data = {.nr = number, .arch = FILTER_ARCH ^ 1, .args = {0, 0xae80}};

        assert_int_equal(verdict_of(data), SECCOMP_RET_KILL_PROCESS);
        assert_false(allowed((int)((unsigned)number | FILTER_FOREIGN_CALLS), 0xae80, 0, 2));
    }
}

static void debug_mode_traps_and_may_speak(void **state)
{
    (void)state;
    filter_make(&thread, true, &filter);
    assert_int_equal(
        verdict_of((struct seccomp_data){.nr = SYS_openat, .arch = FILTER_ARCH}), SECCOMP_RET_TRAP);
    assert_int_equal(verdict_of((struct seccomp_data){.nr = SYS_read, .arch = FILTER_ARCH ^ 1}),
        SECCOMP_RET_TRAP);
    assert_true(allowed(SYS_sendmsg, 0, 0, 0));
    assert_true(allowed(SYS_exit_group, 0, 0, 0));
    assert_true(allowed(SYS_read, 0, 0, 0));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)
static const struct CMUnitTest tests[] = {
    TEST(what_is_listed_is_allowed),
    TEST(conditions_look_at_the_lower_half),
    TEST(conditions_and_alternatives),
    TEST(other_doors_are_closed),
    TEST(debug_mode_traps_and_may_speak),
};

UNIT_MAIN(tests)
