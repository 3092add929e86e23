/* SPDX-License-Identifier: Apache-2.0 */
/* child_jail_test.c: what is made of the words of a child, whose text nobody has checked. */
#include "supervisor/child_jail.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

static struct child child;
static int theirs;
static struct err err;
static char text[256];

static int set_up(void **state)
{
    int channel[2];

    (void)state;
    err = (struct err)ERR_INIT;
    child = (struct child)CHILD_INIT;
    child.name = "vmrun-monitor";
    assert_int_equal(jail_channel(channel, &err), 0);
    child.jail = channel[0];
    theirs = channel[1];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fd_close(&theirs);
    child_fini(&child);
    return 0;
}

static void the_end_names_the_call_that_was_refused(void **state)
{
    (void)state;
    assert_int_equal(jail_say(theirs, JAIL_REFUSED, SYS_socket, NULL), 0);
    child.wait_status = (128 + SIGSYS) << 8;
    child_end_text(&child, text, sizeof(text));
    assert_non_null(strstr(text, "vmrun-monitor made system call"));
    assert_non_null(strstr(text, "(socket), which its jail refuses"));
}

static void a_number_of_no_call_is_told_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(jail_say(theirs, JAIL_REFUSED, 0x7fffffff, NULL), 0);
    assert_true(child_refused(&child, text, sizeof(text)));
    assert_non_null(strstr(text, "system call 2147483647 (unknown)"));
}

static void without_debug_mode_the_end_says_how_to_find_out(void **state)
{
    (void)state;
    child.wait_status = SIGSYS;
    assert_int_equal(fd_set_nonblocking(child.jail, &err), 0);
    child_end_text(&child, text, sizeof(text));
    assert_non_null(strstr(text, "--set machine.jail_debug=yes"));
}

static void another_word_is_no_refusal(void **state)
{
    (void)state;
    assert_int_equal(jail_say(theirs, JAIL_SEALED, SYS_socket, NULL), 0);
    assert_false(child_refused(&child, text, sizeof(text)));
}

static void a_failure_on_the_way_is_told_without_control_characters(void **state)
{
    const struct jail_ground ground = JAIL_GROUND_INIT;

    (void)state;
    assert_int_equal(jail_say(theirs, JAIL_FAILED, 0, "no \033[2Jroot"), 0);
    assert_int_equal(child_confined(&child, &ground, &err), -1);
    assert_non_null(strstr(err.text, "vmrun-monitor cannot enter its jail: no "));
    assert_null(strchr(err.text, '\033'));
}

static void a_child_that_is_gone_is_no_error_of_its_jail(void **state)
{
    const struct jail_ground ground = JAIL_GROUND_INIT;

    (void)state;
    fd_close(&theirs);
    child.gated = true;
    assert_int_equal(child_confined(&child, &ground, &err), 0);
    assert_int_equal(child_sealed(&child, &ground, 1, &err), 0);
    assert_true(child.gated);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_names_the_call_that_was_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_of_no_call_is_told_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            without_debug_mode_the_end_says_how_to_find_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_word_is_no_refusal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_failure_on_the_way_is_told_without_control_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_child_that_is_gone_is_no_error_of_its_jail, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
