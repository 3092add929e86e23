/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=jail_say -Wl,--wrap=jail_hear -Wl,--wrap=filter_load */
/* jail_test.c: what a child makes of a supervisor that it cannot talk to at the gate. */
#include <errno.h>
#include <string.h>

#include "jail/jail.h"
#include "tests/unit/unit.h"

static int say_errno, hear_errno;
static struct jail_message answer;
static int heard; /* what jail_hear() returns without an error */

int __wrap_jail_say(int fd, enum jail_word word, uint32_t number, const char *text);
int __wrap_jail_hear(int fd, struct jail_message *message, struct err *err);
int __wrap_filter_load(const struct filter *filter);

int __wrap_jail_say(int fd, enum jail_word word, uint32_t number, const char *text)
{
    (void)fd;
    (void)number;
    (void)text;
    assert_int_equal(word, JAIL_SEALED);
    errno = say_errno;
    return say_errno ? -1 : 0;
}

int __wrap_jail_hear(int fd, struct jail_message *message, struct err *err)
{
    (void)fd;
    *message = answer;
    errno = hear_errno;
    return hear_errno ? err_sys(err, "cannot hear") : heard;
}

int __wrap_filter_load(const struct filter *filter)
{
    (void)filter;
    return 0;
}

/* What a child that sealed itself exits with; 0 when it went through the gate. */
static int exit_code(void)
{
    static const struct powers powers;
    static struct jail jail = {.powers = &powers};
    struct err err = ERR_INIT;

    return jail_seal(&jail, &err) < 0 ? err_exit_code(&err) : 0;
}

static void the_gate_opens_for_its_word_alone(void **state)
{
    (void)state;
    say_errno = hear_errno = 0;
    heard = 1;
    answer.word = JAIL_GATE;
    assert_int_equal(exit_code(), 0);
    answer.word = JAIL_SEALED;
    assert_int_equal(exit_code(), 1);
    answer.word = JAIL_GATE;
    heard = 0; /* the supervisor is gone */
    assert_int_equal(exit_code(), 1);
}

/* The exit code is all that it has left to say why. */
static void a_failure_keeps_its_errno(void **state)
{
    (void)state;
    heard = 1;
    answer.word = JAIL_GATE;
    say_errno = ENOBUFS;
    assert_int_equal(exit_code(), ENOBUFS);
    say_errno = 0;
    hear_errno = EIO;
    assert_int_equal(exit_code(), EIO);
    hear_errno = 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_gate_opens_for_its_word_alone),
    cmocka_unit_test(a_failure_keeps_its_errno),
};

UNIT_MAIN(tests)
