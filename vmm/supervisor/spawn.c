/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c: see spawn.h. */
#include "supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
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
#include "supervisor/child_jail.h"
#include "supervisor/host_memory.h"

/* Our copies move up here first, so that no dup2() lands on one that is still needed. */
enum { CHILD_FD_FLOOR = 64 };

/* Everything between fork and exec. Returns only on failure. */
static void child_become(const struct jail_ground *ground, int programs_fd, const char *name,
    const struct child_fd *fds, size_t fd_count)
{
    struct pollfd parent = {.fd = ground->parent_fd, .events = POLLIN};
    char *const environment[] = {NULL};
    char argument[32];
    char *const arguments[] = {argument, NULL};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    int copies[CHILD_FDS_MAX];
    sigset_t none;
    int null;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return;
    if (parent.fd >= 0 && poll(&parent, 1, 0) != 0) /* it died before the line above */
        _exit(127);
    if (jail_ground_arrive(ground) < 0)
        return;
    setsid();
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
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

/* What the child is given besides FDS: its ends of both channels, a handle on our life. */
static size_t child_fds(struct child_fd *all, const struct child_fd *fds, size_t fd_count,
    const struct jail_ground *ground, int ipc, int jail)
{
    must(fd_count + 3 <= CHILD_FDS_MAX);
    memcpy(all, fds, fd_count * sizeof(*fds));
    all[fd_count++] = (struct child_fd){ipc, IPC_FD};
    if (jail >= 0) {
        all[fd_count++] = (struct child_fd){jail, JAIL_FD};
        all[fd_count++] = (struct child_fd){ground->parent_fd, JAIL_FD_PARENT};
    }
    return fd_count;
}

/* The numbers that it has open once it is in its jail. */
static void child_note_fds(struct child *child, const struct child_fd *all, size_t count)
{
    child->fd_count = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        child->fds[child->fd_count++] = fd;
    for (size_t i = 0; i < count; i++) {
        if (all[i].number != JAIL_FD_PARENT)
            child->fds[child->fd_count++] = all[i].number;
    }
}

int child_spawn(struct child *child, const struct jail_ground *ground, int programs_fd,
    const char *name, const struct child_fd *fds, size_t fd_count, struct err *err)
{
    const struct jail_ground open_ground = {
        .kind = JAIL_WEAK, .parent_fd = -1, .lock_fd = -1, .cgroup_fd = -1};
    int channel[2], jail[2] = {-1, -1}, report[2];
    struct child_fd all[CHILD_FDS_MAX];

    if (ipc_channel(channel, err) < 0)
        return -1;
    AUTO_FD int ours = channel[0];
    AUTO_FD int theirs = channel[1];
    if (fd_set_nonblocking(ours, err) < 0 || (ground && jail_channel(jail, err) < 0))
        return -1;
    AUTO_FD int jail_ours = jail[0];
    AUTO_FD int jail_theirs = jail[1];
    if (pipe2(report, O_CLOEXEC) < 0)
        return err_sys(err, "cannot create a pipe");
    AUTO_FD int report_read = report[0];
    AUTO_FD int report_write = report[1];
    fd_count = child_fds(all, fds, fd_count, ground, theirs, jail_theirs);
    child_note_fds(child, all, fd_count);
    child->name = name;
    child->oom_kills = host_oom_kills("");
    child->pid = jail_ground_fork(ground ? ground : &open_ground, &child->pid_fd, err);
    if (child->pid < 0) {
        child->pid = 0;
        child->pid_fd = -1;
        return err_wrap(err, "cannot start %s", name);
    }
    if (child->pid == 0) {
        /* Out of the way of the numbers that are handed out. */
        int reporting = fcntl(report_write, F_DUPFD_CLOEXEC, CHILD_FD_FLOOR);

        child_become(ground ? ground : &open_ground, programs_fd, name, all, fd_count);
        fd_write_all(reporting, &errno, sizeof(errno));
        _exit(127);
    }
    fd_close(&report_write);
    child->ipc = fd_take(&ours);
    child->jail = fd_take(&jail_ours);
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

/* Why the kernel may have killed it: whom it killed, its count does not say. */
static const char *child_kill_reason(const struct child *child)
{
    uint64_t kills = host_oom_kills("");

    if (WTERMSIG(child->wait_status) != SIGKILL || child->oom_kills == HOST_OOM_UNKNOWN ||
        kills == HOST_OOM_UNKNOWN || kills <= child->oom_kills)
        return "";
    return ": this host, or a cgroup around vmrun, ran out of memory; lower [machine] memory, "
           "run fewer at once, or give it more";
}

void child_end_text(const struct child *child, char *text, size_t size)
{
    int status = child->wait_status;

    if (child_refused(child, text, size))
        return;
    if (WIFEXITED(status) && WEXITSTATUS(status) > EXIT_FAILURE) /* err_exit_code(); a claim */
        snprintf(text, size, "%s exited with %d, %s", child->name, WEXITSTATUS(status),
            strerror(WEXITSTATUS(status)));
    else if (WIFEXITED(status))
        snprintf(text, size, "%s exited with %d", child->name, WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGSYS)
        snprintf(text, size,
            "%s made a system call that its jail refuses; run it again with "
            "--set machine.jail_debug=yes to see which",
            child->name);
    else
        snprintf(text, size, "%s was killed by signal %d (%s)%s", child->name, WTERMSIG(status),
            strsignal(WTERMSIG(status)), child_kill_reason(child));
}

void child_fini(struct child *child)
{
    child_kill(child);
    child_reap(child);
    fd_close(&child->pid_fd);
    fd_close(&child->ipc);
    fd_close(&child->jail);
}
