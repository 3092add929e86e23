/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_child.c: see unpack_child.h. Hostile is the archive; the directory is new. */
#include "unpack_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/fd.h"
#include "base/filter_arch.h"
#include "base/num.h"
#include "confine.h"
#include "wire/wire.h"

enum { CHILD_FD_FEED = 0, CHILD_FD_STATUS = 1, CHILD_FD_DIRECTORY = 2, CHILD_FD_HIGH = 64 };

#define CHILD_MEMORY_BYTES (64 * MIB)

/* To 0, 1 and 2; all else, the agent's line to the host, is closed. */
static int child_keep_fds(const int fds[3], struct err *err)
{
    for (int i = 0; i < 3; i++) {
        if (dup2(fds[i], CHILD_FD_HIGH + i) < 0)
            return err_sys(err, "cannot move a file descriptor");
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(CHILD_FD_HIGH + i, i) < 0)
            return err_sys(err, "cannot move a file descriptor");
    }
    if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
        return err_sys(err, "cannot close the agent's file descriptors");
    return 0;
}

/* Another call than these ends the process. */
static int child_filter(struct err *err)
{
    /* What unpack_archive() needs, zlib's and the library's memory, and the end. */
    static const int calls[] = {SYS_read, SYS_write, SYS_openat2, SYS_close, SYS_mkdirat,
        SYS_symlinkat, SYS_linkat, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise,
        SYS_exit_group};
    enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };
    struct sock_filter code[CALL_COUNT + 6];
    struct sock_fprog program = {.len = CALL_COUNT + 6, .filter = code};
    size_t at = 0;

    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALL_COUNT; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], (uint8_t)(CALL_COUNT - i), 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    must(at == sizeof(code) / sizeof(code[0]));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_sys(err, "cannot install the seccomp filter");
    return 0;
}

/* *STATUS stays where a failure can be told. */
static int child_confine(
    const struct job *job, int feed, int *status, int directory, struct err *err)
{
    const int fds[3] = {feed, *status, directory};
    const struct rlimit memory = {CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES};

    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    umask(0); /* the modes that are asked for are those that are meant */
    if (child_keep_fds(fds, err) < 0)
        return -1;
    *status = CHILD_FD_STATUS;
    if (confine_limits(job, err) < 0)
        return -1;
    if (fchdir(CHILD_FD_DIRECTORY) < 0 || chroot(".") < 0)
        return err_sys(err, "cannot enter the directory");
    if (setrlimit(RLIMIT_AS, &memory) < 0)
        return err_sys(err, "cannot limit the memory");
    if (confine_rights(job, err) < 0)
        return -1;
    return child_filter(err);
}

_Noreturn void unpack_child_run(const struct job *job, int feed, int status, int directory)
{
    const struct tar_limits limits = {
        .bytes = job->unpack_bytes, .entries = job->unpack_files, .depth = job->unpack_depth};
    struct err err = ERR_INIT;

    if (child_confine(job, feed, &status, directory, &err) == 0 &&
        unpack_archive(CHILD_FD_FEED, CHILD_FD_DIRECTORY, &limits, &err) == 0)
        _exit(0);
    (void)fd_write_all(status, err.text, strnlen(err.text, WIRE_TEXT_BYTES));
    _exit(1);
}
