/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_at.c: kill a process of a run at a chosen point. A point is a system call: those that all
 * threads of the process make are counted from the moment it becomes its program, and before the
 * N-th it gets SIGKILL. So a point is hit for certain or reported as missed, unlike one in time.
 * pread() is no point: hashing an image would be most of the supervisor's life.
 *
 *     kill_at REPORT NAME N COMMAND [ARG...]
 *
 * NAME is the file name of a program that COMMAND becomes or starts; the first such process counts.
 * With N = 0 nothing is killed. REPORT gets one line: "killed COUNT CALL" or "missed COUNT CALL",
 * where CALL is the number of the last system call. Ends as COMMAND does, and as soon; what is left
 * of the others then goes on untraced, so that leftovers can be seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, FAILED = 120 };

struct hunt {
    const char *name;
    long point; /* 0: only count */
    pid_t prey; /* process; 0 until it is there */
    bool killed;
    long count;     /* of its system calls */
    long long call; /* the last one */
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "kill_at: %s: %s\n", what, strerror(errno));
    exit(FAILED);
}

static bool process_is(pid_t pid, const char *name)
{
    char link[64], path[PATH_BYTES];
    const char *slash;
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    slash = strrchr(path, '/');
    return slash && strcmp(slash + 1, name) == 0;
}

static bool is_thread_of(pid_t thread, pid_t process)
{
    char path[64];

    if (process == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)process, (int)thread);
    return access(path, F_OK) == 0;
}

/* A system call of the prey is about to be made or has been. */
static void hunt_call(struct hunt *hunt, pid_t thread)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr == SYS_pread64 || hunt->killed)
        return;
    hunt->count++;
    hunt->call = (long long)info.entry.nr;
    if (hunt->count == hunt->point) {
        hunt->killed = true;
        kill(hunt->prey, SIGKILL);
    }
}

/* THREAD has stopped with STATUS: look at it, and let it go on. */
static void hunt_stop(struct hunt *hunt, pid_t thread, int status)
{
    int event = status >> 16, signal = WSTOPSIG(status);

    if (event == PTRACE_EVENT_EXEC && hunt->prey == 0 && process_is(thread, hunt->name))
        hunt->prey = thread;
    if (signal == (SIGTRAP | 0x80))
        hunt_call(hunt, thread);
    if (event != 0 || signal == (SIGTRAP | 0x80))
        signal = 0;
    /* It may be gone: killed. */
    (void)ptrace(
        is_thread_of(thread, hunt->prey) ? PTRACE_SYSCALL : PTRACE_CONT, thread, 0, (long)signal);
}

static pid_t start(char **command)
{
    int gate[2];
    pid_t pid;
    char byte;

    if (pipe2(gate, O_CLOEXEC) < 0)
        die("pipe");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(gate[1]);
        (void)!read(gate[0], &byte, 1);
        execvp(command[0], command);
        die(command[0]);
    }
    if (ptrace(PTRACE_SEIZE, pid, 0,
            PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                PTRACE_O_TRACEEXEC) < 0)
        die("ptrace");
    close(gate[0]);
    close(gate[1]);
    return pid;
}

int main(int argc, char **argv)
{
    struct hunt hunt = {.call = -1};
    int status = 0;
    pid_t root, thread;
    FILE *report;

    if (argc < 5) {
        fprintf(stderr, "usage: kill_at REPORT NAME N COMMAND [ARG...]\n");
        return FAILED;
    }
    hunt.name = argv[2];
    hunt.point = atol(argv[3]);
    root = start(argv + 4);
    do {
        thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno != EINTR)
            die("waitpid");
        if (thread > 0 && WIFSTOPPED(status))
            hunt_stop(&hunt, thread, status);
    } while (thread != root || WIFSTOPPED(status));
    report = fopen(argv[1], "w");
    if (!report ||
        fprintf(report, "%s %ld %lld\n", hunt.killed ? "killed" : "missed", hunt.count, hunt.call) <
            0 ||
        fclose(report) != 0)
        die(argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
