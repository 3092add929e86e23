/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c: see filter.h. Runs in each child before the gate, but for the handler of debug mode.
 *
 * Classic BPF by hand: a row is a few instructions that end in "allow" or fall through to the next.
 * A library that writes filters was tried: where it lacks memory it hands over a program with rules
 * missing or wrong, and says that all is well.
 */
#include "jail/filter.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/filter_arch.h"
#include "jail/order.h"
#include "jail/sanitized.h"

/* What the handler of debug mode does. */
static const struct powers_call last_words[] = {
    POWERS_CALL(sendmsg, "debug mode: name the call that was refused"),
    POWERS_CALL(exit_group, "debug mode: and end"),
    POWERS_END,
};

static int report_fd = -1; /* of debug mode */

static void filter_add(
    struct filter *filter, uint16_t code, uint32_t k, uint8_t skip_true, uint8_t skip_false)
{
    must(filter->program.len < FILTER_MAX);
    filter->code[filter->program.len++] =
        (struct sock_filter){.code = code, .jt = skip_true, .jf = skip_false, .k = k};
}

static void filter_load_word(struct filter *filter, size_t offset)
{
    filter_add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void filter_return(struct filter *filter, uint32_t verdict)
{
    filter_add(filter, BPF_RET | BPF_K, verdict, 0, 0);
}

/* Calls by another door (32 bits, x32) are not checked by number, but refused. */
static void filter_check_arch(struct filter *filter, uint32_t refuse)
{
    filter_load_word(filter, offsetof(struct seccomp_data, arch));
    filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
    filter_return(filter, refuse);
    filter_load_word(filter, offsetof(struct seccomp_data, nr));
    filter_add(filter, BPF_JMP | BPF_JSET | BPF_K, FILTER_FOREIGN_CALLS, 0, 1);
    filter_return(filter, refuse);
}

/* The lower half of an argument, as both architectures are little-endian. A failure skips SKIP. */
static void filter_check_arg(struct filter *filter, const struct powers_arg *arg, uint8_t skip)
{
    filter_load_word(filter, offsetof(struct seccomp_data, args) + arg->index * sizeof(uint64_t));
    if (arg->check == POWERS_IS)
        filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, arg->value, 0, skip);
    else if (arg->check == POWERS_SELF)
        filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, skip);
    else
        filter_add(filter, BPF_JMP | BPF_JSET | BPF_K, arg->value, skip, 0);
}

/* Expects the number of the call in A, and leaves it there. */
static void filter_allow(struct filter *filter, const struct powers_call *call)
{
    uint8_t checks = 0;

    for (size_t i = 0; i < POWERS_ARGS_MAX; i++) {
        if (call->args[i].check != POWERS_ANY)
            checks++;
    }
    /* Past the checks and "allow": to where A is loaded anew, or to the next row. */
    filter_add(
        filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0, (uint8_t)(2 * checks + 1));
    for (uint8_t i = 0, left = checks; i < POWERS_ARGS_MAX; i++) {
        if (call->args[i].check == POWERS_ANY)
            continue;
        left--;
        filter_check_arg(filter, &call->args[i], (uint8_t)(2 * left + 1));
    }
    filter_return(filter, SECCOMP_RET_ALLOW);
    if (checks > 0)
        filter_load_word(filter, offsetof(struct seccomp_data, nr));
}

static void filter_allow_all(struct filter *filter, const struct powers_call *calls)
{
    for (; calls->name; calls++) {
        if (calls->number >= 0) /* one that this architecture has */
            filter_allow(filter, calls);
    }
}

void filter_make(const struct powers_thread *thread, bool debug, struct filter *filter)
{
    uint32_t refuse = debug       ? SECCOMP_RET_TRAP
                      : SANITIZED ? SECCOMP_RET_LOG
                                  : SECCOMP_RET_KILL_PROCESS;

    filter->program = (struct sock_fprog){.filter = filter->code};
    filter_check_arch(filter, refuse);
    filter_allow_all(filter, thread->calls);
    if (thread->arch_calls)
        filter_allow_all(filter, thread->arch_calls);
    if (debug)
        filter_allow_all(filter, last_words);
    filter_return(filter, refuse);
}

/* Debug mode. */
static void refused(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    (void)jail_say(report_fd, JAIL_REFUSED, (uint32_t)info->si_syscall, NULL);
    _exit(128 + SIGSYS);
}

int filter_report_refused(int fd, struct err *err)
{
    struct sigaction action = {.sa_sigaction = refused, .sa_flags = SA_SIGINFO};

    report_fd = fd;
    if (sigaction(SIGSYS, &action, NULL) < 0)
        return err_sys(err, "cannot install the handler for refused calls");
    return 0;
}

int filter_load(const struct filter *filter)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter->program);
}
