/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU as a child process that cannot outlive the lab. Input is the lab's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

enum { FD_FIRST = 3, SOCKETS = 3 };

__attribute__((noreturn)) static void qemu_exec(char **argv, pid_t parent, const int *fds)
{
    /* A lab that is killed outright takes QEMU with it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(STATUS_OUTER);
    /* Out of the terminal's foreground group: Ctrl-C is the lab's to handle. */
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(fds[1], STDOUT_FILENO) < 0 ||
        dup2(fds[1], STDERR_FILENO) < 0)
        _exit(STATUS_OUTER);
    /* In two steps, as an end may have been given one of these numbers itself. */
    int high[SOCKETS];
    for (int i = 0; i < SOCKETS; i++)
        if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10)) < 0)
            _exit(STATUS_OUTER);
    for (int i = 0; i < SOCKETS; i++)
        if (dup2(high[i], FD_FIRST + i) < 0)
            _exit(STATUS_OUTER);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int qemu_start(struct session *session, char **argv)
{
    int ours[SOCKETS];
    int theirs[SOCKETS];
    for (int i = 0; i < SOCKETS; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
            fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
            fprintf(stderr, "lab: socketpair: %s\n", strerror(errno));
            return -1;
        }
        ours[i] = pair[0];
        theirs[i] = pair[1];
    }
    const pid_t self = getpid();
    session->qemu = fork();
    if (session->qemu == 0)
        qemu_exec(argv, self, theirs);
    for (int i = 0; i < SOCKETS; i++)
        close(theirs[i]);
    session->channel = ours[0];
    session->console = ours[1];
    session->monitor = ours[2];
    if (session->qemu < 0) {
        fprintf(stderr, "lab: fork: %s\n", strerror(errno));
        return -1;
    }
    return 0;
}

int qemu_stop(struct session *session)
{
    int status = 0;
    /* A QEMU that is ending by itself has closed its sockets but may not have its status yet. */
    const int own_end_ms = session->ending == ENDING_QEMU ? 3000 : 0;
    for (int waited = 0; waited < own_end_ms; waited += 10) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)session->qemu, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid == session->qemu)
            break;
        usleep(10000);
    }
    kill(session->qemu, SIGKILL);
    while (waitpid(session->qemu, &status, 0) < 0 && errno == EINTR)
        continue;
    close(session->channel);
    if (session->console >= 0)
        close(session->console);
    if (session->monitor >= 0)
        close(session->monitor);
    return status;
}
