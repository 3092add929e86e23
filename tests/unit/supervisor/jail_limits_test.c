/* SPDX-License-Identifier: Apache-2.0 */
/* jail_limits_test.c: what each child is granted, and that the caller's own limits stay. */
#include "supervisor/jail_limits.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/num.h"
#include "tests/unit/unit.h"

static const struct config config = {.memory_bytes = 512 * MIB,
    .vcpus = 2,
    .boot_ns = 10 * NS_PER_S,
    .wall_ns = 60 * NS_PER_S,
    .stdout_bytes = MIB,
    .stderr_bytes = 2 * MIB,
    .artifacts_files = 1000,
    .artifacts_file_bytes = 7 * MIB,
    .artifacts_total_bytes = 8 * MIB};

static uint64_t limit_of(const struct jail_order *order, uint32_t resource)
{
    for (uint32_t i = 0; i < order->limit_count; i++) {
        if (order->limits[i].resource == resource)
            return order->limits[i].value;
    }
    fail_msg("no limit %u", resource);
    return 0;
}

static void the_monitor_has_its_guest_and_little_more(void **state)
{
    struct jail_order order = {0};

    (void)state;
    jail_limits_monitor(&order, &config, 123456, 7 * NS_PER_S);
    assert_true(limit_of(&order, RLIMIT_CORE) == 0);
    assert_true(limit_of(&order, RLIMIT_MEMLOCK) == 0);
    assert_true(limit_of(&order, RLIMIT_FSIZE) == 123456);
    assert_true(limit_of(&order, RLIMIT_AS) == (512 + 256 + 2 * 144) * MIB);
    assert_true(limit_of(&order, RLIMIT_NOFILE) == 68);
    assert_true(limit_of(&order, RLIMIT_CPU) == 7 + (20 + 300) * 3 + 1);
    assert_true(limit_of(&order, RLIMIT_NPROC) == 10);
    assert_true(order.limits[order.limit_count - 1].resource == RLIMIT_NPROC);
}

static void scribe_and_extractor_have_one_process_and_their_files(void **state)
{
    struct jail_order order = {0};

    (void)state;
    jail_limits_scribe(&order, &config, 4 * MIB);
    assert_true(limit_of(&order, RLIMIT_NPROC) == 1);
    assert_true(limit_of(&order, RLIMIT_FSIZE) == 7 * MIB);
    assert_true(order.limits[order.limit_count - 1].resource == RLIMIT_NPROC);
    jail_limits_extractor(&order, &config);
    assert_true(limit_of(&order, RLIMIT_NPROC) == 1);
    assert_true(limit_of(&order, RLIMIT_FSIZE) == 7 * MIB);
    assert_true(limit_of(&order, RLIMIT_AS) == 96 * MIB + 1000 * 256);
    assert_true(limit_of(&order, RLIMIT_DATA) == 8 * MIB);
    assert_true(order.limits[order.limit_count - 1].resource == RLIMIT_NPROC);
}

static void the_cgroup_holds_all_of_them(void **state)
{
    const struct jail_cgroup_limits limits = jail_limits_cgroup(&config);

    (void)state;
    assert_true(limits.memory_bytes == (512 + 512 + 2 * 8 + 1 + 2) * MIB);
    assert_true(limits.processes == 12 && limits.cpus == 3);
}

static void what_the_caller_limited_stays(void **state)
{
    const struct rlimit tighter = {.rlim_cur = 50, .rlim_max = 50};
    struct jail_order order = {0};

    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tighter), 0);
    jail_limits_monitor(&order, &config, 1, 1);
    assert_true(limit_of(&order, RLIMIT_NOFILE) == 50);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monitor_has_its_guest_and_little_more),
        cmocka_unit_test(scribe_and_extractor_have_one_process_and_their_files),
        cmocka_unit_test(the_cgroup_holds_all_of_them),
        cmocka_unit_test(what_the_caller_limited_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
