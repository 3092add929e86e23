/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c: see filter.h. Runs in each child before the gate, but for the handler of debug mode. */
#include "jail/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/order.h"

/* What the handler of debug mode does. */
static const struct powers_call last_words[] = {
    POWERS_CALL(sendmsg, "debug mode: name the call that was refused"),
    POWERS_CALL(exit_group, "debug mode: and end"),
    POWERS_END,
};

/* A sanitizer makes calls of its own; such a build is for tests, and its filters allow all. */
#ifdef VMRUN_SANITIZED
#define SANITIZED_OR(action) SCMP_ACT_LOG
#else
#define SANITIZED_OR(action) (action)
#endif

static int report_fd = -1; /* of debug mode */

static int filter_err(int negative, const char *what, struct err *err)
{
    errno = -negative;
    return err_sys(err, "seccomp filter: %s", what);
}

static int filter_add(scmp_filter_ctx filter, const struct powers_call *call, struct err *err)
{
    struct scmp_arg_cmp compares[POWERS_ARGS_MAX];
    unsigned int count = 0;
    int failed;

    for (size_t i = 0; i < POWERS_ARGS_MAX; i++) {
        const struct powers_arg *arg = &call->args[i];

        if (arg->check == POWERS_IS)
            compares[count++] =
                SCMP_CMP64(arg->index, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint64_t)arg->value);
        else if (arg->check == POWERS_LACKS)
            compares[count++] =
                SCMP_CMP64(arg->index, SCMP_CMP_MASKED_EQ, (uint64_t)arg->value, UINT64_C(0));
    }
    failed = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call->number, count, compares);
    return failed < 0 ? filter_err(failed, call->name, err) : 0;
}

static int filter_add_all(scmp_filter_ctx filter, const struct powers_call *calls, struct err *err)
{
    int failed = 0;

    for (; calls->name && failed == 0; calls++) {
        if (calls->number >= 0)
            failed = filter_add(filter, calls, err);
    }
    return failed;
}

/* The program by way of a file in memory: libseccomp writes it nowhere else. */
static int filter_export(scmp_filter_ctx filter, struct sock_fprog *program, struct err *err)
{
    AUTO_FD int fd = memfd_create("filter", MFD_CLOEXEC);
    uint64_t size;
    int failed = fd < 0 ? -errno : seccomp_export_bpf(filter, fd);

    if (failed < 0)
        return filter_err(failed, "cannot export it", err);
    if (fd_size(fd, &size, err) < 0)
        return -1;
    must(size > 0 && size % sizeof(struct sock_filter) == 0 &&
         size / sizeof(struct sock_filter) <= BPF_MAXINSNS);
    program->len = (unsigned short)(size / sizeof(struct sock_filter));
    program->filter = malloc(size);
    must(program->filter != NULL);
    if (fd_pread_all(fd, program->filter, size, 0) != (ssize_t)size)
        return err_sys(err, "seccomp filter: cannot read it back");
    return 0;
}

int filter_make(
    const struct powers_thread *thread, bool debug, struct sock_fprog *program, struct err *err)
{
    uint32_t refuse = debug ? SCMP_ACT_TRAP : SANITIZED_OR(SCMP_ACT_KILL_PROCESS);
    scmp_filter_ctx filter = seccomp_init(refuse);
    int failed = filter ? 0 : -ENOMEM;

    /* Calls by another door (32 bits, x32) are not checked by number, but refused. */
    if (failed == 0)
        failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, refuse);
    if (failed < 0) {
        filter_err(failed, "cannot begin it", err);
    } else {
        failed = filter_add_all(filter, thread->calls, err);
        if (failed == 0 && thread->arch_calls)
            failed = filter_add_all(filter, thread->arch_calls, err);
        if (failed == 0 && debug)
            failed = filter_add_all(filter, last_words, err);
        if (failed == 0)
            failed = filter_export(filter, program, err);
    }
    seccomp_release(filter);
    return failed < 0 ? -1 : 0;
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

int filter_load(const struct sock_fprog *program)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}
