/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=syscall */
/* ground_test.c: what is said when no process can be started. Jails are tested by tests/jail/run.
 */
#include "jail/ground.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/unit/unit.h"

static int failure;

long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    assert_int_equal(number, SYS_clone3);
    errno = failure;
    return -1;
}

static struct err fork_fails(enum jail_ground_kind kind, int errnum)
{
    struct jail_ground ground = JAIL_GROUND_INIT;
    struct err err = ERR_INIT;
    int pid_fd = -1;

    failure = errnum;
    ground.kind = kind;
    assert_int_equal(jail_ground_fork(&ground, &pid_fd, &err), -1);
    assert_int_equal(err.errnum, errnum);
    assert_non_null(strstr(err.text, "(clone3): "));
    assert_non_null(strstr(err.text, strerror(errnum)));
    return err;
}

static void a_refusal_of_namespaces_comes_with_a_remedy(void **state)
{
    const int refusals[] = {EPERM, EINVAL, ENOSPC, ENOSYS};

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct err user = fork_fails(JAIL_USER, refusals[i]);
        struct err root = fork_fails(JAIL_ROOT, refusals[i]);

        assert_non_null(strstr(user.text, "user namespaces"));
        assert_non_null(strstr(root.text, "CAP_SYS_ADMIN"));
    }
}

/* Namespaces have no part in these. */
static void other_failures_are_only_named(void **state)
{
    const int others[] = {EAGAIN, ENOMEM, EBADF, EBUSY, EACCES, EOPNOTSUPP};

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct err user = fork_fails(JAIL_USER, others[i]);
        struct err root = fork_fails(JAIL_ROOT, others[i]);

        assert_null(strchr(user.text, ';'));
        assert_null(strchr(root.text, ';'));
    }
    assert_null(strchr(fork_fails(JAIL_WEAK, EPERM).text, ';'));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_refusal_of_namespaces_comes_with_a_remedy),
    cmocka_unit_test(other_failures_are_only_named),
};

UNIT_MAIN(tests)
