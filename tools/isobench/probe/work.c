/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c: fixed pieces of work, for what a sandbox costs; and the random numbers of a fresh one.
 */
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void fact_took(long long from)
{
    fact_int("ns", now_ns(CLOCK_MONOTONIC) - from);
}

/* calls COUNT: the smallest system call there is. */
static void calls(int count, char **words)
{
    (void)count;
    const long long wanted = number(words[1]), from = now_ns(CLOCK_MONOTONIC);
    for (long long i = 0; i < wanted; i++)
        syscall(SYS_getppid);
    fact_took(from);
}

/* compute ROUNDS */
static void compute(int count, char **words)
{
    (void)count;
    const long long wanted = number(words[1]), from = now_ns(CLOCK_MONOTONIC);
    volatile unsigned value = 1;
    for (long long i = 0; i < wanted; i++)
        value = value * 1664525u + 1013904223u;
    fact_took(from);
}

/* files_io DIRECTORY FILES: make, write, read back and remove. */
static void files_io(int count, char **words)
{
    (void)count;
    char name[512], block[4096] = {1};
    const long long wanted = number(words[2]), from = now_ns(CLOCK_MONOTONIC);
    long long done = 0;
    for (long long i = 0; i < wanted; i++) {
        snprintf(name, sizeof name, "%s/isobench-io-%lld", words[1], i);
        const int fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        done += write(fd, block, sizeof block) == (ssize_t)sizeof block &&
                pread(fd, block, sizeof block, 0) == (ssize_t)sizeof block;
        close(fd);
        unlink(name);
    }
    fact_int("done", done);
    fact_took(from);
}

/* random: 32 bytes, and how long they took. */
static void random_bytes(int count, char **words)
{
    (void)count, (void)words;
    unsigned char bytes[32];
    char text[2 * sizeof bytes + 1];
    const long long from = now_ns(CLOCK_MONOTONIC);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return;
    fact_took(from);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    fact_string("bytes", text);
}

static void nothing(int count, char **words)
{
    (void)count, (void)words;
}

const struct probe work_probes[] = {
    {"calls", 1, calls},
    {"compute", 1, compute},
    {"files_io", 2, files_io},
    {"random", 0, random_bytes},
    {"nothing", 0, nothing},
    {0},
};
