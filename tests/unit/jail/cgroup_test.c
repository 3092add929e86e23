/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_test.c: version 1, version 2 and none are told apart. */
#include "jail/cgroup.h"

#include "tests/unit/unit.h"

static char path[64];

static enum jail_cgroup_kind kind_of(const char *text)
{
    path[0] = '\0';
    return jail_cgroup_kind(text, path, sizeof(path));
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(kind_of("0::/user.slice/a.scope\n"), CGROUP_V2);
    assert_string_equal(path, "/sys/fs/cgroup/user.slice/a.scope");
    assert_int_equal(kind_of("0::/\n"), CGROUP_V2);
    assert_string_equal(path, "/sys/fs/cgroup/");
    assert_int_equal(kind_of("2:memory:/a\n1:name=systemd:/\n0::/\n"), CGROUP_V1);
    assert_int_equal(kind_of("3:pids:/\n"), CGROUP_V1);
    assert_int_equal(kind_of("4:cpu,memory:/\n0::/\n"), CGROUP_V1);
    assert_int_equal(kind_of("1:name=systemd:/x\n"), CGROUP_NONE);
    assert_int_equal(kind_of("0::/../outside\n"), CGROUP_NONE);
    assert_int_equal(kind_of(""), CGROUP_NONE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_are_told_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
