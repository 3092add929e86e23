/* SPDX-License-Identifier: Apache-2.0 */
/* behind_filter.h: one system call behind the filter of a thread, as it is in a jail. */
#ifndef TESTS_UNIT_JAIL_BEHIND_FILTER_H
#define TESTS_UNIT_JAIL_BEHIND_FILTER_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/filter.h"
#include "tests/unit/unit.h"

/* False when a process dies of the call. END is a call of THREAD that ends it. */
static bool passes_filter(
    const struct powers_thread *thread, long end, long number, const long args[4])
{
    struct filter filter;
    int status = 0;
    pid_t pid;

    filter_make(thread, false, &filter);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(&filter) < 0)
            _exit(1);
        syscall(number, args[0], args[1], args[2], args[3]);
        syscall(end, 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS));
    return status == 0;
}

#endif
