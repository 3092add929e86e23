/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_test.c: version 1, version 2 and none are told apart. */
#include "jail/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

static const char *self_of(const char *of)
{
    static char self[CGROUP_PATH_BYTES];

    jail_cgroup_self(of, "7", self);
    return self;
}

static void several_runs_share_the_self_of_their_parent(void **state)
{
    (void)state;
    assert_string_equal(self_of("/sys/fs/cgroup/a.scope"), "/sys/fs/cgroup/a.scope/vmrun-7.self");
    assert_string_equal(self_of("/sys/fs/cgroup/"), "/sys/fs/cgroup/vmrun-7.self");
    assert_string_equal(self_of("/sys/fs/cgroup/a/vmrun-3.self"), "/sys/fs/cgroup/a/vmrun-3.self");
    assert_string_equal(self_of("/sys/fs/cgroup/vmrun-3"), "/sys/fs/cgroup/vmrun-3/vmrun-7.self");
    assert_string_equal(
        self_of("/sys/fs/cgroup/xvmrun-3.self"), "/sys/fs/cgroup/xvmrun-3.self/vmrun-7.self");
}

/* What a record says is followed into a file system of cgroups only. */
static void nothing_else_is_cleared(void **state)
{
    char folder[] = "/tmp/cgroup-test-XXXXXX", self[64], run[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(self, sizeof(self), "%s/vmrun-7.self", folder);
    snprintf(run, sizeof(run), "%s/vmrun-7", folder);
    assert_int_equal(mkdir(self, 0700), 0);
    assert_int_equal(mkdir(run, 0700), 0);
    assert_false(jail_cgroup_clear(self, "7", false));
    assert_false(jail_cgroup_clear(self, "7", true));
    assert_false(jail_cgroup_clear("nothing", "7", false));
    assert_int_equal(rmdir(run), 0);
    assert_int_equal(rmdir(self), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(several_runs_share_the_self_of_their_parent),
        cmocka_unit_test(nothing_else_is_cleared)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
