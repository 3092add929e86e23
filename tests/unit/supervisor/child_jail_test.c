/* SPDX-License-Identifier: Apache-2.0 */
/* child_jail_test.c: what a dead child is believed. Jails are tested by tests/jail/run. */
#include "supervisor/child_jail.h"

#include <string.h>
#include <unistd.h>

#include "jail/order.h"
#include "tests/unit/unit.h"

/* CHILD has said WORD on its channel and is dead. */
static bool refusal_is_believed(bool debug, enum jail_word word, char *text, size_t size)
{
    struct child child = CHILD_INIT;
    struct err err = ERR_INIT;
    bool believed;
    int ends[2];

    assert_int_equal(jail_channel(ends, &err), 0);
    assert_int_equal(jail_say(ends[1], word, 59, NULL), 0); /* execve of x86_64 */
    close(ends[1]);
    child.name = "vmrun-scribe";
    child.jail = ends[0];
    child.order.debug = debug;
    believed = child_refused(&child, text, size);
    close(ends[0]);
    return believed;
}

static void a_refused_call_is_named_in_debug_mode_only(void **state)
{
    char text[256] = "";

    (void)state;
    assert_true(refusal_is_believed(true, JAIL_REFUSED, text, sizeof(text)));
    assert_non_null(strstr(text, "vmrun-scribe made system call 59 ("));
    assert_false(refusal_is_believed(true, JAIL_SEALED, text, sizeof(text)));
    /* Its filter kills it then: nobody who could still speak was refused anything. */
    assert_false(refusal_is_believed(false, JAIL_REFUSED, text, sizeof(text)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_refused_call_is_named_in_debug_mode_only),
};

UNIT_MAIN(tests)
