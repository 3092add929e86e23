/* SPDX-License-Identifier: Apache-2.0 */
/* proof_test.c: each control that is missing is found; a process without a jail proves nothing. */
#include "jail/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jail/root.h"
#include "tests/unit/unit.h"

#define STATUS                                                                                     \
    "Name:\tvmrun-scribe\nUmask:\t0022\nUid:\t5\t5\t5\t5\nGid:\t6\t6\t6\t6\nGroups:\t \n"          \
    "NSpid:\t12\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"                        \
    "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"            \
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"

#define LIMITS                                                                                     \
    "Limit                     Soft Limit           Hard Limit           Units     \n"             \
    "Max cpu time              60                   60                   seconds   \n"             \
    "Max data size             8388608              8388608              bytes     \n"             \
    "Max core file size        0                    0                    bytes     \n"             \
    "Max open files            32                   32                   files     \n"

static const struct jail_ground ground = {.kind = JAIL_ROOT, .uid = 5, .gid = 6, .cgroup_fd = -1};

/* STATUS with the first FROM replaced by TO. */
static int status_with(const char *from, const char *to, enum jail_ground_kind kind)
{
    struct jail_ground other = ground;
    char text[1024] = "";
    const char *at = strstr(STATUS, from);
    struct err err = ERR_INIT;
    int failed;

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - STATUS), STATUS, to, at + strlen(from));
    other.kind = kind;
    failed = proof_status_text(text, &other, &err);
    assert_null(strchr(err.text, '\n')); /* a message is one line */
    return failed;
}

static void every_line_of_the_status_counts(void **state)
{
    static const struct {
        const char *from, *to;
    } faults[] = {{"Uid:\t5\t5\t5\t5", "Uid:\t5\t5\t5\t0"}, {"Uid:\t5", "Uid:\t0"},
        {"Gid:\t6\t6", "Gid:\t6\t0"}, {"Groups:\t ", "Groups:\t0 "},
        {"CapInh:\t0000000000000000", "CapInh:\t0000000000000001"}, {"CapPrm:\t0", "CapPrm:\t8"},
        {"CapEff:\t0", "CapEff:\t1"}, {"CapBnd:\t0", "CapBnd:\t1"}, {"CapAmb:\t0", "CapAmb:\t1"},
        {"NoNewPrivs:\t1", "NoNewPrivs:\t0"}, {"Seccomp:\t2", "Seccomp:\t0"},
        {"Seccomp:\t2", "Seccomp:\t1"}, {"Seccomp:\t2\n", ""}, {"NoNewPrivs:", "NoNewPrivz:"},
        {"CapBnd:", "Cap:"}};

    (void)state;
    assert_int_equal(status_with("Name", "Name", JAIL_ROOT), 0);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (status_with(faults[i].from, faults[i].to, JAIL_ROOT) == 0)
            fail_msg("%s instead of %s was not found", faults[i].to, faults[i].from);
    }
    /* What a user cannot give up. */
    assert_int_equal(status_with("Groups:\t ", "Groups:\t0 ", JAIL_USER), 0);
    assert_int_equal(status_with("CapBnd:\t0", "CapBnd:\t1", JAIL_USER), -1);
    assert_int_equal(status_with("CapBnd:\t0", "CapBnd:\t1", JAIL_WEAK), 0);
    assert_int_equal(status_with("CapEff:\t0", "CapEff:\t1", JAIL_WEAK), -1);
}

static int limits_are(uint32_t resource, uint64_t value)
{
    const struct jail_order order = {.limit_count = 1, .limits = {{resource, value}}};
    struct err err = ERR_INIT;

    return proof_limits_text(LIMITS, &order, &err);
}

static void limits_are_exact(void **state)
{
    const struct jail_order none = {.limit_count = 0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(proof_limits_text(LIMITS, &none, &err), 0);
    assert_int_equal(limits_are(RLIMIT_CPU, 60), 0);
    assert_int_equal(limits_are(RLIMIT_CPU, 59), -1);
    assert_int_equal(limits_are(RLIMIT_CPU, 61), -1);
    assert_int_equal(limits_are(RLIMIT_CORE, 0), 0);
    assert_int_equal(limits_are(RLIMIT_NOFILE, 32), 0);
    assert_int_equal(limits_are(RLIMIT_DATA, 8 << 20), 0);
    assert_int_equal(limits_are(RLIMIT_AS, 32), -1);    /* not there */
    assert_int_equal(limits_are(RLIMIT_STACK, 32), -1); /* of no name */
}

static void a_process_without_a_jail_proves_nothing(void **state)
{
    const struct jail_order order = {.limit_count = 0};
    const struct jail_ground user = {
        .kind = JAIL_USER, .uid = getuid(), .gid = getgid(), .cgroup_fd = -1};
    static const int fds[] = {0, 1, 2};
    uint32_t controls = 0;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(proof_confined(getpid(), &user, fds, 3, 0, &controls, &err), -1);
    assert_non_null(strstr(err.text, "namespace is the supervisor's"));
    assert_int_equal(controls, 0);
    assert_int_equal(proof_sealed(getpid(), &user, &order, 1, &controls, &err), -1);
    assert_int_equal(controls, 0);
}

static void what_is_due_depends_on_the_ground(void **state)
{
    const uint32_t landlock = landlock_abi() > 0 ? JAIL_CONTROL_LANDLOCK : 0;

    (void)state;
    assert_int_equal(jail_controls_due(JAIL_ROOT, 5), 0x7ffe | landlock);
    assert_int_equal(jail_controls_due(JAIL_USER, 5), 0x7dff | landlock);
    assert_int_equal(jail_controls_due(JAIL_WEAK, 5),
        JAIL_CONTROL_FDS | JAIL_CONTROL_NO_NEW_PRIVS | JAIL_CONTROL_NO_CAPABILITIES |
            JAIL_CONTROL_SECCOMP | JAIL_CONTROL_RLIMITS | JAIL_CONTROL_NOT_DUMPABLE | landlock);
    assert_int_equal(jail_controls_due(JAIL_WEAK, 0),
        jail_controls_due(JAIL_WEAK, 5) & ~(uint32_t)JAIL_CONTROL_NOT_DUMPABLE);
}

static void landlock_that_is_not_there_is_found(void **state)
{
    (void)state;
    assert_false(landlock_holds());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_the_status_counts),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(a_process_without_a_jail_proves_nothing),
        cmocka_unit_test(what_is_due_depends_on_the_ground),
        cmocka_unit_test(landlock_that_is_not_there_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
