/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=syscall -Wl,--wrap=open */
/* landlock_test.c: whether Landlock holds is tried, and a trial that fails says nothing of it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "jail/root.h"
#include "tests/unit/unit.h"

static int open_errno; /* 0: the root can be opened */

long __wrap_syscall(long number, ...);
int __wrap_open(const char *path, int flags, ...);

/* ABI 1, a ruleset, and nothing that is in force. */
long __wrap_syscall(long number, ...)
{
    static unsigned calls;

    (void)number;
    calls++;
    return calls % 3 == 1 ? 1 : calls % 3 == 2 ? dup(STDERR_FILENO) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    (void)flags;
    assert_string_equal(path, "/");
    errno = open_errno;
    return open_errno ? -1 : dup(STDERR_FILENO);
}

static int confine(int with_errno, struct err *err)
{
    static const struct powers none;

    *err = (struct err)ERR_INIT;
    open_errno = with_errno;
    return landlock_confine(&none, err);
}

static void it_holds_when_the_root_is_refused(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(confine(EACCES, &err), 1);
    assert_int_equal(confine(0, &err), -1);
    assert_non_null(strstr(err.text, "does not hold"));
    assert_int_equal(confine(EMFILE, &err), -1);
    assert_int_equal(err.errnum, EMFILE);
    assert_null(strstr(err.text, "does not hold"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_holds_when_the_root_is_refused),
};

UNIT_MAIN(tests)
