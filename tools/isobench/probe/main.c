/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: isoprobe PROBE WORD... [+ PROBE WORD...]...: runs each probe in a child of its own, in
 * this order. Around each the child makes a system call that always fails and that no other program
 * makes: where the sandbox shares the host's kernel, the host's trace shows these fences, and what
 * lies between them is what that probe reached.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* close() of descriptors that cannot be open: hosttrace.py knows the number too. */
enum { FENCE = 0x15b00000, SECONDS_DEFAULT = 20, EXIT_NO_PROBE = 2 };

static const struct probe *const tables[] = {
    look_probes, reach_probes, sweep_probes, net_probes, channel_probes, press_probes, work_probes};

long long now_ns(int clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_until_ms(long long at)
{
    const struct timespec until = {.tv_sec = at / 1000, .tv_nsec = (at % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

long long number(const char *word)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(word, &end, 0);
    if (errno || end == word || *end) {
        fprintf(stderr, "isoprobe: '%s' is not a number\n", word);
        exit(EXIT_NO_PROBE);
    }
    return value;
}

ptrdiff_t read_file(const char *path, char *buffer, size_t size)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t total = 0;
    ptrdiff_t result = 0;
    while (total < size) {
        const ssize_t got = read(fd, buffer + total, size - total);
        if (got < 0)
            result = -errno;
        if (got <= 0)
            break;
        total += (size_t)got;
    }
    close(fd);
    return total ? (ptrdiff_t)total : result;
}

static const struct probe *find(const char *name, int word_count)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct probe *probe = tables[i]; probe->name; probe++)
            if (strcmp(probe->name, name) == 0 && word_count > probe->word_count)
                return probe;
    return NULL;
}

/* A child that hangs or is killed has no facts, which the host reads as "no answer". */
static void run_one(const struct probe *probe, int word_count, char **words, int index)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_DEFAULT); /* a probe that needs longer sets its own */
        syscall(SYS_close, FENCE + 2 * index);
        facts_begin(words[0]);
        fact_int("index", index);
        probe->run(word_count, words);
        syscall(SYS_close, FENCE + 2 * index + 1);
        facts_end();
        _exit(0);
    }
    int status = child < 0 ? -1 : 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        return;
    facts_begin(words[0]);
    fact_int("index", index);
    fact_int("died", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    facts_end();
}

int main(int argc, char **argv)
{
    for (int from = 1, index = 0; from < argc; index++) {
        int to = from;
        while (to < argc && strcmp(argv[to], "+") != 0)
            to++;
        const struct probe *probe = to > from ? find(argv[from], to - from) : NULL;
        if (!probe) {
            fprintf(stderr, "isoprobe: no probe '%s' with %d words\n", argv[from], to - from - 1);
            return EXIT_NO_PROBE;
        }
        run_one(probe, to - from, argv + from, index);
        from = to + 1;
    }
    facts_begin("end");
    facts_end();
    return 0;
}
