/* SPDX-License-Identifier: Apache-2.0 */
/*
 * press.c: takes more than it was given, of one thing at a time, up to an amount that the host
 * names and that an outer cgroup caps again. What was taken is held for a moment, for the host to
 * measure.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_MS = 700, LONG_S = 60, DAEMON_S = 20, MIB = 1 << 20, NAME_BYTES = 512 };

static void hold(void)
{
    const struct timespec wait = {.tv_nsec = HOLD_MS * 1000000};
    nanosleep(&wait, NULL);
}

/* fill DIRECTORY BYTES */
static void fill(int count, char **words)
{
    (void)count;
    static char block[MIB];
    char name[NAME_BYTES];
    const long long wanted = number(words[2]);
    long long written = 0;
    memset(block, 0xa5, sizeof block);
    alarm(LONG_S);
    snprintf(name, sizeof name, "%s/isobench-fill", words[1]);
    const int fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    int cause = fd < 0 ? errno : 0;
    while (!cause && written < wanted) {
        const ssize_t got = write(fd, block, sizeof block);
        if (got <= 0)
            cause = errno;
        else
            written += got;
    }
    fact_int("bytes", written);
    fact_int("errno", cause);
    hold();
    unlink(name);
}

/* inodes DIRECTORY COUNT */
static void inodes(int count, char **words)
{
    (void)count;
    char name[NAME_BYTES];
    const long long wanted = number(words[2]);
    long long made = 0;
    int cause = 0;
    alarm(LONG_S);
    for (; made < wanted && !cause; made += !cause) {
        snprintf(name, sizeof name, "%s/isobench-%lld", words[1], made);
        const int fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        cause = fd < 0 ? errno : 0;
        if (fd >= 0)
            close(fd);
    }
    fact_int("made", made);
    fact_int("errno", cause);
    hold();
    for (long long i = 0; i < made; i++) {
        snprintf(name, sizeof name, "%s/isobench-%lld", words[1], i);
        unlink(name);
    }
}

/* forks COUNT: children that wait, all in this process group. */
static void forks(int count, char **words)
{
    (void)count;
    const long long wanted = number(words[1]);
    long long made = 0;
    int cause = 0;
    setpgid(0, 0);
    for (; made < wanted && !cause; made += !cause) {
        const pid_t child = fork();
        cause = child < 0 ? errno : 0;
        if (child == 0) {
            alarm(DAEMON_S);
            pause();
            _exit(0);
        }
    }
    fact_int("made", made);
    fact_int("errno", cause);
    hold();
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    while (wait(NULL) > 0)
        ;
}

/* memory BYTES: touched page by page. */
static void memory(int count, char **words)
{
    (void)count;
    const long long wanted = number(words[1]);
    long long touched = 0;
    alarm(LONG_S);
    for (; touched < wanted; touched += MIB) {
        char *block = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            break;
        for (int i = 0; i < MIB; i += 4096)
            block[i] = (char)(i + 1);
    }
    fact_int("bytes", touched);
    fact_int("errno", touched < wanted ? errno : 0);
    hold();
}

/* spin MS PROCESSES */
static void spin(int count, char **words)
{
    (void)count;
    const long long until = now_ns(CLOCK_MONOTONIC) + number(words[1]) * 1000000;
    const long long processes = number(words[2]);
    long long started = 1;
    for (; started < processes; started++)
        if (fork() == 0) {
            while (now_ns(CLOCK_MONOTONIC) < until)
                ;
            _exit(0);
        }
    while (now_ns(CLOCK_MONOTONIC) < until)
        ;
    while (wait(NULL) > 0)
        ;
    fact_int("processes", started);
}

/* syncs DIRECTORY MS: small writes, each forced to the disk. */
static void syncs(int count, char **words)
{
    (void)count;
    char name[NAME_BYTES], block[4096] = {1};
    const long long until = now_ns(CLOCK_MONOTONIC) + number(words[2]) * 1000000;
    long long done = 0;
    snprintf(name, sizeof name, "%s/isobench-sync", words[1]);
    const int fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    while (fd >= 0 && now_ns(CLOCK_MONOTONIC) < until) {
        if (pwrite(fd, block, sizeof block, (done % 256) * 4096) < 0 || fdatasync(fd) != 0)
            break;
        done++;
    }
    fact_int("done", done);
    unlink(name);
}

/* flood BYTES: to standard error; the facts go to standard output. */
static void flood(int count, char **words)
{
    (void)count;
    static char block[1 << 16];
    const long long wanted = number(words[1]);
    long long written = 0;
    memset(block, 'x', sizeof block);
    block[sizeof block - 1] = '\n';
    alarm(LONG_S);
    while (written < wanted) {
        const ssize_t got = write(STDERR_FILENO, block, sizeof block);
        if (got <= 0)
            break;
        written += got;
    }
    fact_int("bytes", written);
}

/* files COUNT: sockets, by as many processes as it takes, since each has a limit of its own. */
static void files(int count, char **words)
{
    (void)count;
    const long long wanted = number(words[1]);
    long long *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[16] = {0};
    if (made == MAP_FAILED)
        return;
    for (int i = 0; i < 16 && *made < wanted; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(DAEMON_S);
            while (__atomic_load_n(made, __ATOMIC_RELAXED) < wanted &&
                   socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
                __atomic_fetch_add(made, 1, __ATOMIC_RELAXED);
            pause();
        }
        const struct timespec turn = {.tv_nsec = 100000000};
        nanosleep(&turn, NULL);
    }
    fact_int("made", *made);
    hold();
    for (int i = 0; i < 16; i++)
        if (children[i] > 0)
            kill(children[i], SIGKILL);
}

/* daemon: a grandchild in a session of its own, which ignores what it may and outlives the program.
 */
static void leave_daemon(int count, char **words)
{
    (void)count, (void)words;
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        if (fork() == 0) {
            alarm(DAEMON_S);
            for (int fd = 0; fd < 3; fd++)
                close(fd);
            for (;;)
                pause();
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    fact_int("left", child > 0);
}

/* stay MS: do nothing for so long. */
static void stay(int count, char **words)
{
    (void)count;
    const long long ms = number(words[1]);
    const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    alarm(LONG_S);
    nanosleep(&wait, NULL);
}

const struct probe press_probes[] = {
    {"fill", 2, fill},
    {"inodes", 2, inodes},
    {"forks", 1, forks},
    {"memory", 1, memory},
    {"spin", 2, spin},
    {"syncs", 2, syncs},
    {"flood", 1, flood},
    {"files", 1, files},
    {"daemon", 0, leave_daemon},
    {"stay", 1, stay},
    {0},
};
