/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c: see spawn.h. */
#include "supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "ipc/ipc.h"

/* Our copies move up here first, so that no dup2() lands on one that is still needed. */
enum { CHILD_FD_FLOOR = 64 };

/* Everything between fork and exec. Returns only on failure. */
static void child_become(
    int programs_fd, const char *name, pid_t parent, const struct child_fd *fds, size_t fd_count)
{
    char *const environment[] = {NULL};
    char argument[32];
    char *const arguments[] = {argument, NULL};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    int copies[CHILD_FDS_MAX];
    sigset_t none;
    int null;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return;
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    setsid();
    sigemptyset(&none);
    for (int number = 1; number < 32; number++)
        sigaction(number, &normal, NULL);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return;
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return;
    /* A way to see sanitizer reports; never a terminal, which a taken-over child could steer. */
    if ((!getenv("VMRUN_CHILD_STDERR") || isatty(2)) && dup2(null, 2) < 0)
        return;
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return;
    for (size_t i = 0; i < fd_count; i++) {
        copies[i] = fcntl(fds[i].fd, F_DUPFD_CLOEXEC, CHILD_FD_FLOOR);
        if (copies[i] < 0)
            return;
    }
    programs_fd = fcntl(programs_fd, F_DUPFD_CLOEXEC, CHILD_FD_FLOOR);
    if (programs_fd < 0)
        return;
    for (size_t i = 0; i < fd_count; i++) {
        if (dup2(copies[i], fds[i].number) < 0)
            return;
    }
    snprintf(argument, sizeof(argument), "%s", name);
    syscall(SYS_execveat, programs_fd, name, arguments, environment, 0);
}

/* Waits until the child has become its program; the pipe closes on exec, or carries errno. */
static int child_await_exec(int report, struct err *err, const char *name)
{
    int failed = 0;
    ssize_t count = fd_read_all(report, &failed, sizeof(failed));

    if (count == 0)
        return 0;
    errno = count == sizeof(failed) ? failed : EIO;
    return err_sys(err, "cannot start %s", name);
}

int child_spawn(struct child *child, int programs_fd, const char *name, const struct child_fd *fds,
    size_t fd_count, struct err *err)
{
    struct child_fd all[CHILD_FDS_MAX];
    int channel[2], report[2];
    pid_t parent = getpid();

    must(fd_count + 1 < CHILD_FDS_MAX);
    memcpy(all, fds, fd_count * sizeof(*fds));
    if (ipc_channel(channel, err) < 0)
        return -1;
    AUTO_FD int ours = channel[0];
    AUTO_FD int theirs = channel[1];
    all[fd_count] = (struct child_fd){theirs, IPC_FD};
    if (fd_set_nonblocking(ours, err) < 0)
        return -1;
    if (pipe2(report, O_CLOEXEC) < 0)
        return err_sys(err, "cannot create a pipe");
    AUTO_FD int report_read = report[0];
    AUTO_FD int report_write = report[1];
    child->name = name;
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        return err_sys(err, "cannot start %s: fork", name);
    }
    if (child->pid == 0) {
        /* Out of the way of the numbers that are handed out. */
        int reporting = fcntl(report_write, F_DUPFD_CLOEXEC, CHILD_FD_FLOOR);

        child_become(programs_fd, name, parent, all, fd_count + 1);
        fd_write_all(reporting, &errno, sizeof(errno));
        _exit(127);
    }
    fd_close(&report_write);
    child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->pid_fd < 0)
        return err_sys(err, "cannot watch %s: pidfd_open", name);
    child->ipc = fd_take(&ours);
    return child_await_exec(report_read, err, name);
}

void child_kill(struct child *child)
{
    if (child->pid > 0)
        kill(child->pid, SIGKILL); /* not reaped yet, so the number is still its own */
}

void child_reap(struct child *child)
{
    if (child->pid <= 0)
        return;
    while (wait4(child->pid, &child->wait_status, 0, &child->usage) < 0 && errno == EINTR)
        continue;
    child->pid = 0;
}

void child_end_text(const struct child *child, char *text, size_t size)
{
    int status = child->wait_status;

    if (WIFEXITED(status) && WEXITSTATUS(status) > EXIT_FAILURE) /* err_exit_code(); a claim */
        snprintf(text, size, "%s exited with %d, %s", child->name, WEXITSTATUS(status),
            strerror(WEXITSTATUS(status)));
    else if (WIFEXITED(status))
        snprintf(text, size, "%s exited with %d", child->name, WEXITSTATUS(status));
    else
        snprintf(text, size, "%s was killed by signal %d (%s)", child->name, WTERMSIG(status),
            strsignal(WTERMSIG(status)));
}

void child_fini(struct child *child)
{
    child_kill(child);
    child_reap(child);
    fd_close(&child->pid_fd);
    fd_close(&child->ipc);
}
