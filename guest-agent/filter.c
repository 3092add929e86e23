/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c: see filter.h. Written as classic BPF by hand: each rule is a few instructions that end
 * in a verdict or fall through to the next. At installation the kernel tries the program with every
 * call to find out which are always allowed, and does not run it for these later; so its length
 * costs once, at the start of the task, and rules are in blocks that are skipped as a whole.
 */
#include "filter.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "base/filter_arch.h"
#include "base/num.h"

#define FILTER_RULE_COUNT (sizeof(filter_rules) / sizeof(filter_rules[0]))
#define FILTER_NAMESPACES                                                                          \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
        CLONE_NEWCGROUP)

enum { FILTER_BLOCK_RULES = 8 };

struct filter_rule {
    unsigned number; /* of the system call */
    int error;       /* what it returns */
};

/*
 * EPERM is what a program gets elsewhere without the right; ENOSYS where programs have another way
 * that they take only then.
 */
static const struct filter_rule filter_rules[] = {
    /* programs in the kernel, and large interfaces with a record of holes */
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
    {SYS_add_key, EPERM},
    {SYS_request_key, EPERM},
    {SYS_keyctl, EPERM},
    {SYS_fanotify_init, EPERM},
    /* another kernel, or more of this one */
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_kexec_load, EPERM},
#ifdef SYS_kexec_file_load
    {SYS_kexec_file_load, EPERM},
#endif
    {SYS_reboot, EPERM},
    /* file trees: the task's stays as it was made */
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_chroot, EPERM},
    {SYS_open_tree, EPERM},
    {SYS_move_mount, EPERM},
    {SYS_fsopen, EPERM},
    {SYS_fsconfig, EPERM},
    {SYS_fsmount, EPERM},
    {SYS_fspick, EPERM},
    {SYS_mount_setattr, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_swapon, EPERM},
    {SYS_swapoff, EPERM},
    {SYS_quotactl, EPERM},
    {SYS_acct, EPERM},
    /* namespaces: with one of users, a task has capabilities again. The flags of clone3 lie in
     * memory, where a filter cannot look; the C libraries then use clone. */
    {SYS_setns, EPERM},
    {SYS_clone3, ENOSYS},
    /* the machine's clock and log */
    {SYS_settimeofday, EPERM},
    {SYS_clock_settime, EPERM},
    {SYS_syslog, EPERM},
    {SYS_vhangup, EPERM},
#ifdef SYS_iopl
    {SYS_iopl, EPERM},
    {SYS_ioperm, EPERM},
#endif
};

/* What local programs use. AF_VSOCK is the agent's, the other families are not in the kernel. */
static const unsigned filter_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

struct filter_code {
    struct sock_filter *code;
    size_t count;
};

static void filter_add(
    struct filter_code *program, uint16_t code, uint32_t k, uint8_t skip_true, uint8_t skip_false)
{
    must(program->count < FILTER_MAX);
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = skip_true, .jf = skip_false, .k = k};
}

static void filter_load(struct filter_code *program, size_t offset)
{
    filter_add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The low half of an argument: both architectures are little-endian. */
static void filter_load_argument(struct filter_code *program, size_t index)
{
    filter_load(program, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void filter_return(struct filter_code *program, uint32_t verdict)
{
    filter_add(program, BPF_RET | BPF_K, verdict, 0, 0);
}

static uint32_t filter_error(int error)
{
    return SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA);
}

/* A process of another architecture would mean other calls by the same numbers: it ends. */
static void filter_check_arch(struct filter_code *program)
{
    filter_load(program, offsetof(struct seccomp_data, arch));
    filter_add(program, BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
    filter_return(program, SECCOMP_RET_KILL_PROCESS);
    filter_load(program, offsetof(struct seccomp_data, nr));
    filter_add(program, BPF_JMP | BPF_JSET | BPF_K, FILTER_FOREIGN_CALLS, 0, 1);
    filter_return(program, filter_error(ENOSYS));
}

/* NUMBER with one of FLAGS in argument 0 is an error. Expects the call's number in A, as do all. */
static void filter_deny_flags(struct filter_code *program, unsigned number, uint32_t flags)
{
    filter_add(program, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    filter_load_argument(program, 0);
    filter_add(program, BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1);
    filter_return(program, filter_error(EPERM));
    filter_return(program, SECCOMP_RET_ALLOW);
}

static void filter_check_family(struct filter_code *program, unsigned number)
{
    uint8_t count = sizeof(filter_families) / sizeof(filter_families[0]);

    filter_add(program, BPF_JMP | BPF_JEQ | BPF_K, number, 0, (uint8_t)(count + 3));
    filter_load_argument(program, 0);
    for (uint8_t i = 0; i < count; i++)
        filter_add(program, BPF_JMP | BPF_JEQ | BPF_K, filter_families[i], (uint8_t)(count - i), 0);
    filter_return(program, filter_error(EAFNOSUPPORT));
    filter_return(program, SECCOMP_RET_ALLOW);
}

static int filter_compare(const void *a, const void *b)
{
    const struct filter_rule *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

/* Instructions of COUNT rules: two each, and two for each block. */
static size_t filter_rules_length(size_t count)
{
    return 2 * count + 2 * ((count + FILTER_BLOCK_RULES - 1) / FILTER_BLOCK_RULES);
}

/*
 * The rules by number. A block begins with a jump over it, for numbers above its last, and ends
 * with a jump behind all blocks, since a number that was not found in its block is in no other.
 */
static void filter_add_rules(struct filter_code *program)
{
    struct filter_rule rules[FILTER_RULE_COUNT];

    memcpy(rules, filter_rules, sizeof(rules));
    qsort(rules, FILTER_RULE_COUNT, sizeof(rules[0]), filter_compare);
    for (size_t start = 0; start < FILTER_RULE_COUNT; start += FILTER_BLOCK_RULES) {
        size_t size = size_min(FILTER_RULE_COUNT - start, FILTER_BLOCK_RULES);
        size_t left = FILTER_RULE_COUNT - start - size;

        filter_add(program, BPF_JMP | BPF_JGT | BPF_K, rules[start + size - 1].number,
            (uint8_t)(2 * size + 1), 0);
        for (size_t i = start; i < start + size; i++) {
            filter_add(program, BPF_JMP | BPF_JEQ | BPF_K, rules[i].number, 0, 1);
            filter_return(program, filter_error(rules[i].error));
        }
        filter_add(program, BPF_JMP | BPF_JA, (uint32_t)filter_rules_length(left), 0, 0);
    }
}

size_t filter_build(struct sock_filter code[FILTER_MAX])
{
    struct filter_code program = {.code = code};

    filter_check_arch(&program);
    filter_add_rules(&program);
    filter_deny_flags(&program, SYS_clone, FILTER_NAMESPACES);
    filter_deny_flags(&program, SYS_unshare, FILTER_NAMESPACES | CLONE_NEWTIME);
    filter_check_family(&program, SYS_socket);
    filter_check_family(&program, SYS_socketpair);
    filter_return(&program, SECCOMP_RET_ALLOW);
    return program.count;
}

int filter_install(struct err *err)
{
    struct sock_filter code[FILTER_MAX];
    struct sock_fprog program = {.filter = code};

    program.len = (unsigned short)filter_build(code);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_sys(err, "cannot install the seccomp filter");
    return 0;
}
