/* SPDX-License-Identifier: Apache-2.0 */
/* controls_test.c: what is read out of /proc/PID/status; every single line can take a control away.
 */
#include <stdio.h>
#include <string.h>

#include "guest-agent/controls.h"
#include "tests/unit/unit.h"

#define ALL                                                                                        \
    (WIRE_CONTROL_UID | WIRE_CONTROL_NO_CAPS | WIRE_CONTROL_NO_NEW_PRIVS | WIRE_CONTROL_SECCOMP)

static const char confined[] = "Name:\tinit\n"
                               "Uid:\t1000\t1000\t1000\t1000\n"
                               "Gid:\t100\t100\t100\t100\n"
                               "Groups:\t \n"
                               "CapInh:\t0000000000000000\n"
                               "CapPrm:\t0000000000000000\n"
                               "CapEff:\t0000000000000000\n"
                               "CapBnd:\t0000000000000000\n"
                               "CapAmb:\t0000000000000000\n"
                               "NoNewPrivs:\t1\n"
                               "Seccomp:\t2\n"
                               "Seccomp_filters:\t1\n";

static struct job job;

static int set_up(void **state)
{
    (void)state;
    memset(&job, 0, sizeof(job));
    job.uid = 1000;
    job.gid = 100;
    return 0;
}

/* CONFINED with the first FROM replaced by TO. */
static uint64_t with(const char *from, const char *to)
{
    char text[sizeof(confined) + 64];
    const char *at = strstr(confined, from);

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - confined), confined, to, at + strlen(from));
    return controls_of_status(text, &job);
}

static void all_there(void **state)
{
    (void)state;
    assert_int_equal(controls_of_status(confined, &job), ALL);
    assert_int_equal(controls_of_status("", &job), 0);
}

static void one_missing(void **state)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

    (void)state;
    assert_int_equal(with("1000\t1000\nGid", "1000\t0\nGid"), ALL & ~WIRE_CONTROL_UID);
    assert_int_equal(with("Uid:\t1000", "Uid:\t0"), ALL & ~WIRE_CONTROL_UID);
    assert_int_equal(with("Gid:\t100", "Gid:\t0"), ALL & ~WIRE_CONTROL_UID);
    assert_int_equal(with("Groups:\t \n", "Groups:\t27 \n"), ALL & ~WIRE_CONTROL_UID);
    assert_int_equal(with("NoNewPrivs:\t1", "NoNewPrivs:\t0"), ALL & ~WIRE_CONTROL_NO_NEW_PRIVS);
    assert_int_equal(with("Seccomp:\t2", "Seccomp:\t0"), ALL & ~WIRE_CONTROL_SECCOMP);
    assert_int_equal(with("Seccomp:\t2", "Seccomp:\t1"), ALL & ~WIRE_CONTROL_SECCOMP);
    assert_int_equal(with("Seccomp:\t2\n", ""), ALL & ~WIRE_CONTROL_SECCOMP);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        char from[32], to[32];

        snprintf(from, sizeof(from), "%s:\t0000000000000000", sets[i]);
        snprintf(to, sizeof(to), "%s:\t0000000000000400", sets[i]);
        assert_int_equal(with(from, to), ALL & ~WIRE_CONTROL_NO_CAPS);
        assert_int_equal(with(from, "CapNew:\t0"), ALL & ~WIRE_CONTROL_NO_CAPS);
    }
}

static void root_is_not_unprivileged(void **state)
{
    (void)state;
    job.uid = 0;
    assert_int_equal(
        with("Uid:\t1000\t1000\t1000\t1000", "Uid:\t0\t0\t0\t0"), ALL & ~WIRE_CONTROL_UID);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_there, set_up),
        cmocka_unit_test_setup(one_missing, set_up),
        cmocka_unit_test_setup(root_is_not_unprivileged, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
