/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c: two sandboxes that may not know each other, one that says bits and one that listens.
 * Time is cut into slots from a moment that the host chose; in each, the one does something or not,
 * and the other measures. What the measurements say is worked out on the host, which chose the
 * bits.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_MAX = 256, BLOCK_BYTES = 1 << 18, WORK = 2000 };

/* What one kind does in the slot of a 1, and undoes; and what the other one measures. */
struct kind {
    const char *name;
    void (*say)(const char *target, int slot, long long until_ms);
    void (*unsay)(const char *target);
    long long (*hear)(const char *target, int slot, long long until_ms);
};

static int held = -1;

static void release(const char *target)
{
    (void)target;
    if (held >= 0)
        close(held);
    held = -1;
}

/* lock: of a file that both may only read. */
static void say_lock(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    held = open(target, O_RDONLY | O_CLOEXEC);
    flock(held, LOCK_EX | LOCK_NB);
}

static long long hear_lock(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    const int fd = open(target, O_RDONLY | O_CLOEXEC);
    const long long busy = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return busy;
}

/* abstract: a Unix socket's name. */
static int bind_name(const char *target)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strnlen(target, sizeof address.sun_path - 1);
    memcpy(address.sun_path + 1, target, length);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const size_t size = offsetof(struct sockaddr_un, sun_path) + 1 + length;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, (socklen_t)size) == 0)
        return fd;
    const int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

static void say_abstract(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    held = bind_name(target);
}

static long long hear_abstract(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    const int fd = bind_name(target);
    const long long taken = fd < 0 && errno == EADDRINUSE;
    close(fd);
    return taken;
}

/* shm: a file in /dev/shm. */
static void say_shm(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    close(open(target, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
}

static void unsay_shm(const char *target)
{
    unlink(target);
}

static long long hear_shm(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    return access(target, F_OK) == 0;
}

/* sysv: a message queue; TARGET is its key. */
static void say_sysv(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    msgget((key_t)number(target), IPC_CREAT | 0666);
}

static void unsay_sysv(const char *target)
{
    msgctl(msgget((key_t)number(target), 0), IPC_RMID, NULL);
}

static long long hear_sysv(const char *target, int slot, long long until_ms)
{
    (void)slot, (void)until_ms;
    return msgget((key_t)number(target), 0) >= 0;
}

/* cache: a block of a file that nobody has read yet; the listener waits for most of the slot. */
static long long read_block_ns(const char *target, int slot)
{
    static char block[4096];
    const int fd = open(target, O_RDONLY | O_CLOEXEC);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    const long long from = now_ns(CLOCK_MONOTONIC);
    const ssize_t got = pread(fd, block, sizeof block, (off_t)slot * BLOCK_BYTES);
    const long long took = now_ns(CLOCK_MONOTONIC) - from;
    close(fd);
    return got == (ssize_t)sizeof block ? took : -1;
}

static void say_cache(const char *target, int slot, long long until_ms)
{
    (void)until_ms;
    read_block_ns(target, slot);
}

static long long hear_cache(const char *target, int slot, long long until_ms)
{
    (void)until_ms;
    return read_block_ns(target, slot);
}

/* load: time of the processor. */
static long long spin_until(long long until_ms)
{
    volatile unsigned value = 1;
    long long rounds = 0;
    for (; now_ns(CLOCK_REALTIME) < until_ms * 1000000; rounds++)
        for (int i = 0; i < WORK; i++)
            value = value * 1664525u + 1013904223u;
    return rounds;
}

static void say_load(const char *target, int slot, long long until_ms)
{
    (void)target, (void)slot;
    spin_until(until_ms);
}

static long long hear_load(const char *target, int slot, long long until_ms)
{
    (void)target, (void)slot;
    return -spin_until(until_ms); /* less work done: more heard */
}

static const struct kind kinds[] = {
    {"lock", say_lock, release, hear_lock},
    {"abstract", say_abstract, release, hear_abstract},
    {"shm", say_shm, unsay_shm, hear_shm},
    {"sysv", say_sysv, unsay_sysv, hear_sysv},
    {"cache", say_cache, release, hear_cache},
    {"load", say_load, release, hear_load},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "isoprobe: no channel '%s'\n", name);
    exit(2);
}

/* say KIND TARGET START_MS SLOT_MS BITS */
static void say(int count, char **words)
{
    (void)count;
    const struct kind *kind = find_kind(words[1]);
    const long long start = number(words[3]), slot_ms = number(words[4]);
    fact_int("early_ms", start - now_ns(CLOCK_REALTIME) / 1000000);
    alarm(60);
    for (int slot = 0; words[5][slot]; slot++) {
        const long long at = start + slot * slot_ms;
        sleep_until_ms(at);
        if (words[5][slot] != '1')
            continue;
        kind->say(words[2], slot, at + slot_ms - slot_ms / 8);
        sleep_until_ms(at + slot_ms - slot_ms / 8);
        kind->unsay(words[2]);
    }
}

/* hear KIND TARGET START_MS SLOT_MS SLOTS */
static void hear(int count, char **words)
{
    (void)count;
    const struct kind *kind = find_kind(words[1]);
    const long long start = number(words[3]), slot_ms = number(words[4]), slots = number(words[5]);
    long long values[SLOTS_MAX];
    fact_int("early_ms", start - now_ns(CLOCK_REALTIME) / 1000000);
    alarm(60);
    for (int slot = 0; slot < slots && slot < SLOTS_MAX; slot++) {
        sleep_until_ms(start + slot * slot_ms + slot_ms / 2);
        values[slot] = kind->hear(words[2], slot, start + slot * slot_ms + slot_ms * 7 / 8);
    }
    fact_ints("values", values, (size_t)(slots < SLOTS_MAX ? slots : SLOTS_MAX));
}

const struct probe channel_probes[] = {{"say", 5, say}, {"hear", 5, hear}, {0}};
