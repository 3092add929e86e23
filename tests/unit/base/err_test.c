/* SPDX-License-Identifier: Apache-2.0 */
/* err_test.c: one message, wrapped from the inside out, never longer than its place. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/unit/unit.h"

static void messages_are_set_and_wrapped(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_false(err_is_set(&err));
    assert_int_equal(err_set(&err, "number %d", 7), -1);
    assert_true(err_is_set(&err));
    assert_string_equal(err.text, "number 7");
    assert_int_equal(err.errnum, 0);
    assert_int_equal(err_wrap(&err, "while %s", "testing"), -1);
    assert_string_equal(err.text, "while testing: number 7");
    errno = ENOSPC;
    assert_int_equal(err_sys(&err, "cannot write %s", "x"), -1);
    assert_string_equal(err.text, "cannot write x: No space left on device");
    assert_int_equal(err.errnum, ENOSPC);
    err_wrap(&err, "outer");
    assert_int_equal(err.errnum, ENOSPC);
    assert_int_equal(err_remedy(&err, "make room"), -1);
    assert_string_equal(err.text, "outer: cannot write x: No space left on device; make room");
    assert_int_equal(err.errnum, ENOSPC);
}

static void long_messages_are_cut(void **state)
{
    char long_text[2 * ERR_TEXT_BYTES];
    struct err err = ERR_INIT;

    (void)state;
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    err_set(&err, "%s", long_text);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    err_wrap(&err, "front");
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    err_remedy(&err, "behind");
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    assert_memory_equal(err.text, "front: xxx", 10);
    errno = EIO;
    err_sys(&err, "%s", long_text);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    assert_int_equal(err.errnum, EIO);
}

/* As in a jail, where no process may send a signal. */
static void forbid_signals(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(1);
}

static void a_broken_must_ends_a_jailed_process(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(null, STDERR_FILENO);
        signal(SIGILL, SIG_DFL); /* a sanitizer would report it */
        forbid_signals();
        must(1 == 1);
        must(1 == 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGILL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(messages_are_set_and_wrapped),
    cmocka_unit_test(long_messages_are_cut),
    cmocka_unit_test(a_broken_must_ends_a_jailed_process),
};

UNIT_MAIN(tests)
