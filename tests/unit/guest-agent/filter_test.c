/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_test.c: the seccomp program does what it should for every system call: once by an
 * interpreter of the few instructions that it uses, once by the kernel on a process of ours.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/filter_arch.h"
#include "guest-agent/filter.h"
#include "tests/unit/bpf.h"

static struct sock_filter code[FILTER_MAX];
static size_t count;

static int set_up(void **state)
{
    (void)state;
    count = filter_build(code);
    return 0;
}

static uint32_t verdict(int number, uint64_t argument)
{
    struct seccomp_data data = {.nr = number, .arch = FILTER_ARCH, .args = {argument}};
    unsigned steps = 0;

    return bpf_run(code, count, &data, &steps);
}

static void expect_error(int number, uint64_t argument, int error)
{
    assert_int_equal(verdict(number, argument), SECCOMP_RET_ERRNO | (uint32_t)error);
}

static void expect_allowed(int number, uint64_t argument)
{
    assert_int_equal(verdict(number, argument), SECCOMP_RET_ALLOW);
}

static void denied_calls(void **state)
{
    static const int eperm[] = {SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key,
        SYS_request_key, SYS_keyctl, SYS_init_module, SYS_finit_module, SYS_delete_module,
        SYS_kexec_load, SYS_reboot, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
        SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
        SYS_mount_setattr, SYS_open_by_handle_at, SYS_swapon, SYS_swapoff, SYS_quotactl, SYS_acct,
        SYS_setns, SYS_settimeofday, SYS_clock_settime, SYS_syslog, SYS_vhangup, SYS_fanotify_init};
    static const int enosys[] = {
        SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_clone3};

    (void)state;
    for (size_t i = 0; i < sizeof(eperm) / sizeof(eperm[0]); i++)
        expect_error(eperm[i], 0, EPERM);
    for (size_t i = 0; i < sizeof(enosys) / sizeof(enosys[0]); i++)
        expect_error(enosys[i], 0, ENOSYS);
}

/* Every number: the denied ones are as many as listed above and no more, on either side of a rule.
 */
static void everything_else_is_allowed(void **state)
{
    unsigned denied = 0;

    (void)state;
    for (int number = 0; number < 1000; number++)
        denied += verdict(number, AF_UNIX) != SECCOMP_RET_ALLOW;
#ifdef SYS_iopl
    assert_int_equal(denied, 40); /* with kexec_file_load, iopl, ioperm */
#else
    assert_int_equal(denied, 38);
#endif
    expect_allowed(SYS_read, 0);
    expect_allowed(SYS_execve, 0);
    expect_allowed(SYS_ptrace, 0);
    expect_allowed(SYS_seccomp, 0);
}

static void socket_families(void **state)
{
    static const int calls[] = {SYS_socket, SYS_socketpair};

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        for (uint64_t family = 0; family < 64; family++) {
            if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
                family == AF_NETLINK)
                expect_allowed(calls[i], family);
            else
                expect_error(calls[i], family, EAFNOSUPPORT);
        }
        /* The kernel takes an int: the upper half of the register must not open a way round. */
        expect_error(calls[i], AF_VSOCK | (1ULL << 32), EAFNOSUPPORT);
    }
}

static void namespaces(void **state)
{
    static const unsigned flags[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET,
        CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
    const unsigned thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;

    (void)state;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        expect_error(SYS_clone, flags[i] | SIGCHLD, EPERM);
        expect_error(SYS_unshare, flags[i], EPERM);
    }
    expect_error(SYS_unshare, CLONE_NEWTIME, EPERM);
    expect_allowed(SYS_clone, SIGCHLD);
    expect_allowed(SYS_clone, thread);
    expect_allowed(SYS_unshare, CLONE_FILES | CLONE_FS);
}

static void foreign_architectures(void **state)
{
    struct seccomp_data data = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};
    unsigned steps = 0;

    (void)state;
    assert_int_equal(bpf_run(code, count, &data, &steps), SECCOMP_RET_KILL_PROCESS);
    expect_error((int)(SYS_read | FILTER_FOREIGN_CALLS), 0, ENOSYS);
    expect_error(-1, 0, ENOSYS);
}

/* The kernel tries all calls when a task starts. */
static void short_for_every_call(void **state)
{
    unsigned most = 0;

    (void)state;
    for (int number = 0; number < 512; number++) {
        struct seccomp_data data = {.nr = number, .arch = FILTER_ARCH};
        unsigned steps = 0;

        (void)bpf_run(code, count, &data, &steps);
        most = steps > most ? steps : most;
    }
    assert_in_range(most, 1, 30);
}

static void the_kernel_agrees(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        struct err err = ERR_INIT;
        int failed = 0;

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (filter_install(&err) < 0)
            _exit(100);
        failed |= socket(AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT ? 1 : 0;
        failed |= socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? 2 : 0;
        failed |= unshare(CLONE_NEWUSER) != -1 || errno != EPERM ? 4 : 0;
        failed |= syscall(SYS_io_uring_setup, 0, NULL) != -1 || errno != ENOSYS ? 8 : 0;
        failed |= syscall(SYS_keyctl, 0, 0) != -1 || errno != EPERM ? 16 : 0;
        failed |= unshare(CLONE_FILES) < 0 ? 32 : 0;
        _exit(failed);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(denied_calls, set_up),
        cmocka_unit_test_setup(everything_else_is_allowed, set_up),
        cmocka_unit_test_setup(socket_families, set_up),
        cmocka_unit_test_setup(namespaces, set_up),
        cmocka_unit_test_setup(foreign_architectures, set_up),
        cmocka_unit_test_setup(short_for_every_call, set_up),
        cmocka_unit_test(the_kernel_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
