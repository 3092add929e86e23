/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the command: pipes for its output, its cgroup, its identity, its directory, exec.
 * Pipes rather than the port itself, because a port opens once only and /dev/stderr must reopen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outer.h"

/* The end that stays here is non-blocking; the command's end is an ordinary pipe of its user. */
static void pipe_make(int ends[2], int kept, const struct job *job)
{
    if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[kept], F_SETFL, O_NONBLOCK) < 0)
        lab_fail("pipe: %s", strerror(errno));
    if (job->user && fchown(ends[!kept], LAB_UID, LAB_GID) < 0)
        lab_fail("chown a pipe: %s", strerror(errno));
}

static void identity_drop(void)
{
    const gid_t groups[] = {LAB_GID, kvm_gid()};
    if (setgroups(2, groups) < 0 || setresgid(LAB_GID, LAB_GID, LAB_GID) < 0 ||
        setresuid(LAB_UID, LAB_UID, LAB_UID) < 0) {
        fprintf(stderr, "lab: cannot become user %d: %s\n", LAB_UID, strerror(errno));
        _exit(126);
    }
}

__attribute__((noreturn)) static void command_exec(const struct job *job, const int stdio[3])
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(stdio[fd], fd) < 0)
            _exit(126);
    setpriority(PRIO_PROCESS, 0, 0);
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* As systemd gives a service; the kernel's own 4096 is too low for a build. */
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 524288});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, RLIM_INFINITY});
    if (job->user)
        identity_drop();
    if (chdir(job->cwd) < 0) {
        fprintf(stderr, "lab: cannot enter %s: %s\n", job->cwd, strerror(errno));
        _exit(126);
    }
    environ = job->env;
    execvp(job->arg[0], job->arg);
    fprintf(stderr, "lab: cannot run %s: %s\n", job->arg[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

void command_start(struct command *command, const struct job *job)
{
    int in[2] = {-1, -1};
    int out[2];
    int err[2];
    if (job->use_stdin)
        pipe_make(in, 1, job);
    else if ((in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        lab_fail("open /dev/null: %s", strerror(errno));
    pipe_make(out, 0, job);
    pipe_make(err, 0, job);

    const pid_t pid = fork();
    if (pid < 0)
        lab_fail("fork: %s", strerror(errno));
    if (pid == 0) {
        cgroup_enter();
        umask(022);
        command_exec(job, (const int[]){in[0], out[1], err[1]});
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    *command = (struct command){.pid = pid, .in = in[1], .out = out[0], .err = err[0]};
}
