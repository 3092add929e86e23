/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isoprobe: the program that every sandbox of the benchmark runs. It tries things that hurt nobody
 * and prints what it saw, one JSON object a line. What that means is for the host to say: nothing
 * here knows a token, an expected value or the sandbox that it is in.
 */
#ifndef ISOBENCH_PROBE_H
#define ISOBENCH_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* One line of facts. Begin, add, end: the line is written with one write(2). */
void facts_begin(const char *probe);
void fact_int(const char *key, long long value);
void fact_text(const char *key, const char *text, size_t length);
void fact_string(const char *key, const char *text);
/* A list of numbers, or nothing when count is 0. */
void fact_ints(const char *key, const long long *values, size_t count);
void facts_end(void);

/* A probe gets its words, its own name first, and adds facts. It may be killed: it runs in a child.
 */
typedef void probe_run(int word_count, char **words);

struct probe {
    const char *name;
    int word_count; /* that it needs beside its name */
    probe_run *run;
};

/* One table per file, ended by an entry without a name. */
extern const struct probe look_probes[], reach_probes[], sweep_probes[], net_probes[],
    channel_probes[], press_probes[], work_probes[];

/* Helpers that several files use. */
long long now_ns(int clock);        /* of clock_gettime(2) */
void sleep_until_ms(long long at);  /* CLOCK_REALTIME, milliseconds */
long long number(const char *word); /* exits with a message unless it is one */
ptrdiff_t read_file(const char *path, char *buffer, size_t size); /* bytes, or -errno */

#endif
