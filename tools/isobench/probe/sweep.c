/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.c: every system call number, once, with arguments that no call accepts. The last two
 * arguments are marks: a call that the host's trace shows with them came from here and got as far
 * as the host's kernel, past every filter. What the calls return here decides nothing.
 */
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 512, MARK = 0x15b0c4e7, NOT_MADE = -1, KILLED = 9999 };

/* Never made, whatever the arguments: they could end or change the machine that this runs on by
 * accident, end the sweep, or wait for ever. */
static const short never[] = {
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_pivot_root,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sync,
    SYS_vhangup,
    SYS_acct,
    SYS_exit,
    SYS_exit_group,
    SYS_clone,
    SYS_clone3,
    SYS_rt_sigsuspend,
    SYS_rt_sigreturn,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_msgget,
    SYS_setpriority,
    SYS_ioprio_set,
#ifdef SYS_fork /* of the older architectures */
    SYS_fork,
    SYS_vfork,
    SYS_pause,
    SYS_alarm,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

static bool is_never(long number_of_call)
{
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (never[i] == number_of_call)
            return true;
    return false;
}

/* Goes on until a call ends this process. */
static void sweep_from(long first, long long *results)
{
    alarm(2);
    for (long call = first; call < CALLS_MAX; call++) {
        if (is_never(call))
            continue;
        results[call] = KILLED;
        const long result = syscall(call, -1L, -1L, -1L, -1L, (long)MARK, (long)MARK);
        results[call] = result < 0 ? errno : 0;
    }
}

/* sweep: per number the error, 0 for success, -1 for not made, 9999 for a call that ended the
 * caller. */
static void sweep(int count, char **words)
{
    (void)count, (void)words;
    long long *results = mmap(NULL, CALLS_MAX * sizeof *results, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) {
        fact_int("errno", errno);
        return;
    }
    for (int call = 0; call < CALLS_MAX; call++)
        results[call] = NOT_MADE;
    for (long first = 0; first < CALLS_MAX;) {
        const pid_t child = fork();
        if (child == 0) {
            sweep_from(first, results);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status == 0)
            break;
        long next = first;
        while (next < CALLS_MAX && results[next] != KILLED)
            next++;
        if (next >= CALLS_MAX)
            break;
        first = next + 1;
    }
    long long made = 0, absent = 0, refused = 0;
    for (int call = 0; call < CALLS_MAX; call++) {
        made += results[call] != NOT_MADE;
        absent += results[call] == ENOSYS;
        refused += results[call] == EPERM || results[call] == EACCES || results[call] == KILLED;
    }
    fact_int("made", made);
    fact_int("absent", absent);
    fact_int("refused", refused);
    fact_ints("errors", results, CALLS_MAX);
}

const struct probe sweep_probes[] = {{"sweep", 0, sweep}, {0}};
