/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_child.c: see task_child.h. Nothing of the task has run before execve, so everything up to
 * there is the agent's own code with falling rights; the file tree and the names in it are the
 * image's and the task's inputs.
 */
#include "task_child.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/fd.h"
#include "confine.h"
#include "filter.h"
#include "lookup.h"
#include "root.h"
#include "task.h"

enum { CHILD_FD_FIRST = 64, CHILD_PATH_BYTES = 4096, CHILD_SCRIPT_BYTES = 256 };

static void child_tell(const struct task_child *child, enum task_event_kind kind, uint32_t how,
    uint32_t code, const char *text)
{
    struct task_event event = {.kind = kind, .how = how, .code = code};

    memcpy(event.text, text, strnlen(text, WIRE_TEXT_BYTES));
    (void)fd_write_all(child->status, &event, sizeof(event));
}

/* The task will not run: report and leave. */
static _Noreturn void child_fail(
    const struct task_child *child, uint32_t how, const struct err *err)
{
    child_tell(child, TASK_FAILED, how, (uint32_t)err->errnum, err->text);
    _exit(127);
}

/* Ours out of the way of 0, 1 and 2; then everything else, the agent's line to the host, closed. */
static int child_keep_fds(struct task_child *child, struct err *err)
{
    int *const kept[] = {&child->cgroup, &child->status, &child->gate, &child->stdin_fd,
        &child->stdout_fd, &child->stderr_fd};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (*kept[i] < 0)
            continue;
        *kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, CHILD_FD_FIRST);
        if (*kept[i] < 0)
            return err_sys(err, "cannot move a file descriptor");
    }
    if (syscall(SYS_close_range, 0, CHILD_FD_FIRST - 1, 0) < 0)
        return err_sys(err, "cannot close the agent's file descriptors");
    return 0;
}

/* The namespace's own loopback: local servers of the task work, the agent's are not reached. */
static int child_raise_loopback(struct err *err)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_sys(err, "cannot raise the loopback interface");
    return 0;
}

static void child_reset_signals(void)
{
    sigset_t none;

    signal(SIGPIPE, SIG_DFL); /* the only one that the agent changed */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_take_streams(struct task_child *child, struct err *err)
{
    /* 0 is free, so that is what /dev/null becomes; a dup2 onto itself would keep close-on-exec. */
    if (child->stdin_fd < 0 && open("/dev/null", O_RDONLY) != STDIN_FILENO)
        return err_sys(err, "cannot open /dev/null");
    if (child->stdin_fd >= 0 && dup2(child->stdin_fd, STDIN_FILENO) < 0)
        return err_sys(err, "cannot set up stdin");
    if (dup2(child->stdout_fd, STDOUT_FILENO) < 0 || dup2(child->stderr_fd, STDERR_FILENO) < 0)
        return err_sys(err, "cannot set up stdout and stderr");
    return 0;
}

/* Everything with the agent's rights; a failure is the agent's. */
static int child_prepare(struct task_child *child, struct err *err)
{
    child_reset_signals();
    setsid();
    if (unshare(CLONE_NEWCGROUP) < 0)
        return err_sys(err, "cannot make a cgroup namespace");
    if (root_mount_cgroup(err) < 0)
        return -1;
    return child_take_streams(child, err);
}

/* A lookup_probe: with the task's rights, in the task's file tree. */
static int child_probe(void *context, const char *path)
{
    struct stat status;

    (void)context;
    if (stat(path, &status) < 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/*
 * Why execve of PATH failed, in ERR. "No such file" about a file that is there means its
 * interpreter, which people rarely guess; a carriage return behind it even less.
 */
static void child_explain_exec(const char *path, int error, struct err *err)
{
    char line[CHILD_SCRIPT_BYTES] = "";
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    bool script = count > 2 && line[0] == '#' && line[1] == '!';

    errno = error;
    if (error == ENOENT && script) {
        size_t length = strcspn(line, "\n");
        bool cr = length > 2 && line[length - 1] == '\r';

        line[length - (cr ? 1 : 0)] = '\0';
        err_sys(err, "cannot run %s: its interpreter \"%s\" is missing%s", path, line + 2,
            cr ? " (the line ends in a carriage return: CRLF file?)" : "");
    } else if (error == ENOENT) {
        err_sys(err, "cannot run %s: the program loader that it names is missing", path);
    } else if (error == ENOEXEC) {
        err_sys(
            err, "cannot run %s: neither a program for this machine nor a script with #!", path);
    } else {
        err_sys(err, "cannot run %s", path);
    }
}

/* Wait until the agent has read back what is in force; without the agent there is no task. */
static void child_wait_gate(struct task_child *child)
{
    char byte;

    child_tell(child, TASK_READY, 0, 0, "");
    if (fd_read_all(child->gate, &byte, 1) != 1)
        _exit(127);
}

static _Noreturn void child_main(struct task_child *child)
{
    static char path[CHILD_PATH_BYTES];
    const struct job *job = child->job;
    struct err err = ERR_INIT;
    int error;

    if (child_prepare(child, &err) < 0)
        child_fail(child, TASK_HOW_FATAL, &err);
    if (confine_limits(job, &err) < 0)
        child_fail(child, WIRE_HOW_SETUP_FAILED, &err);
    if (confine_rights(job, &err) < 0)
        child_fail(child, TASK_HOW_FATAL, &err);
    if (chdir(job->workdir) < 0) {
        err_sys(&err, "cannot enter the working directory %s", job->workdir);
        child_fail(child, WIRE_HOW_SETUP_FAILED, &err);
    }
    error =
        lookup_command(job->args[0], lookup_path(job->envs), child_probe, NULL, path, sizeof(path));
    if (error) {
        errno = error;
        err_sys(&err, "cannot run %s", job->args[0]);
        child_fail(child,
            error == ENOENT || error == ENOTDIR ? WIRE_HOW_NOT_FOUND : WIRE_HOW_NOT_STARTED, &err);
    }
    if (filter_install(&err) < 0)
        child_fail(child, TASK_HOW_FATAL, &err);
    child_wait_gate(child);
    execve(path, job->args, job->envs);
    child_explain_exec(path, errno, &err);
    child_fail(child, WIRE_HOW_NOT_STARTED, &err);
}

/* Reap until no process of the task is left; the main one's end is told at once. */
static _Noreturn void child_reap(struct task_child *child, pid_t main_pid)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);

        if (pid == main_pid)
            child_tell(child, TASK_EXITED, 0, (uint32_t)status, "");
        if (pid < 0 && errno != EINTR)
            _exit(0);
    }
}

static int child_make_world(struct task_child *child, struct err *err)
{
    const char *name = child->job->hostname;

    if (child_keep_fds(child, err) < 0)
        return -1;
    if (sethostname(name, strlen(name)) < 0)
        return err_sys(err, "cannot set the host name");
    if (child_raise_loopback(err) < 0)
        return -1;
    return root_enter(child->job, err);
}

_Noreturn void task_child_run(struct task_child *child)
{
    struct clone_args how = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
    struct err err = ERR_INIT;
    long pid;

    /* A task of the same user must not trace init, nor read its memory or its fds. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (child_make_world(child, &err) < 0)
        child_fail(child, TASK_HOW_FATAL, &err);
    how.cgroup = (__u64)child->cgroup;
    pid = syscall(SYS_clone3, &how, sizeof(how));
    if (pid == 0)
        child_main(child);
    if (pid < 0) {
        err_sys(&err, "cannot start the task's first process");
        child_fail(child, WIRE_HOW_SETUP_FAILED, &err);
    }
    fd_close(&child->cgroup);
    fd_close(&child->gate);
    fd_close(&child->stdin_fd);
    fd_close(&child->stdout_fd);
    fd_close(&child->stderr_fd);
    if (confine_init(&err) < 0)
        child_fail(child, TASK_HOW_FATAL, &err);
    child_reap(child, (pid_t)pid);
}
