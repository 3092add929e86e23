/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c: see cgroup.h and Documentation/admin-guide/cgroup-v2.rst. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "places.h"
#include "small_file.h"

enum { CGROUP_FILE_BYTES = 4096, CGROUP_NUMBER_BYTES = 24, CGROUP_SIGNALLED_MAX = 65536 };

static int cgroup_write_number(int cgroup, const char *file, uint64_t number, struct err *err)
{
    char text[CGROUP_NUMBER_BYTES];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    return small_file_write(cgroup, file, text, err);
}

static int cgroup_make_at(const char *path, uint64_t memory, uint64_t processes, struct err *err)
{
    AUTO_FD int cgroup = -1;

    /* cpu: the task as a whole then weighs as much as the agent, however many threads it has. */
    if (small_file_write(
            AT_FDCWD, PLACE_CGROUP "/cgroup.subtree_control", "+memory +pids +cpu", err) < 0)
        return -1;
    if (mkdir(path, 0755) < 0)
        return err_sys(err, "cannot make the cgroup %s", path);
    cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return err_sys(err, "cannot open the cgroup %s", path);
    /* Out of memory ends the task as a whole: half a task hangs, and hides the reason. */
    if (cgroup_write_number(cgroup, "memory.max", memory, err) < 0 ||
        cgroup_write_number(cgroup, "pids.max", processes, err) < 0 ||
        small_file_write(cgroup, "memory.oom.group", "1", err) < 0)
        return -1;
    return fd_take(&cgroup);
}

int cgroup_make(const struct job *job, struct err *err)
{
    return cgroup_make_at(PLACE_TASK_CGROUP, job->memory_bytes, job->processes, err);
}

int cgroup_make_unpack(const struct job *job, struct err *err)
{
    return cgroup_make_at(PLACE_UNPACK_CGROUP, job->memory_bytes, 1, err);
}

int cgroup_only_pid(int cgroup, pid_t *pid, struct err *err)
{
    char text[CGROUP_FILE_BYTES];
    char *end;
    long value;

    if (small_file_read(cgroup, "cgroup.procs", text, sizeof(text), err) < 0)
        return -1;
    value = strtol(text, &end, 10);
    if (end == text || strcmp(end, "\n") != 0 || value <= 0)
        return err_set(err, "the cgroup of the task does not hold exactly its first process");
    *pid = (pid_t)value;
    return 0;
}

/* The number in a file of one number; 0 when there is none ("max"). */
static uint64_t cgroup_number(int cgroup, const char *file)
{
    char text[CGROUP_FILE_BYTES];
    struct err ignored = ERR_INIT;

    if (small_file_read(cgroup, file, text, sizeof(text), &ignored) < 0)
        return 0;
    return strtoull(text, NULL, 10);
}

/* The number behind KEY in a file of "key number" lines; 0 when there is none. */
static uint64_t cgroup_keyed_number(int cgroup, const char *file, const char *key)
{
    char text[CGROUP_FILE_BYTES];
    struct err ignored = ERR_INIT;
    size_t length = strlen(key);

    if (small_file_read(cgroup, file, text, sizeof(text), &ignored) < 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return strtoull(line + length + 1, NULL, 10);
    }
    return 0;
}

/* The kernel keeps memory.max in whole pages, rounded down. */
bool cgroup_memory_limited(int cgroup, const struct job *job)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return cgroup_number(cgroup, "memory.max") == job->memory_bytes / page * page;
}

bool cgroup_pids_limited(int cgroup, const struct job *job)
{
    return cgroup_number(cgroup, "pids.max") == job->processes;
}

uint64_t cgroup_cpu_ns(int cgroup)
{
    return cgroup_keyed_number(cgroup, "cpu.stat", "usage_usec") * 1000;
}

void cgroup_read_stats(int cgroup, struct cgroup_stats *stats)
{
    stats->user_ns = cgroup_keyed_number(cgroup, "cpu.stat", "user_usec") * 1000;
    stats->system_ns = cgroup_keyed_number(cgroup, "cpu.stat", "system_usec") * 1000;
    stats->memory_peak_bytes = cgroup_number(cgroup, "memory.peak");
    stats->oom_kills = cgroup_keyed_number(cgroup, "memory.events", "oom_kill");
    stats->pids_max_events = cgroup_keyed_number(cgroup, "pids.events", "max");
}

void cgroup_signal(int cgroup, int signal)
{
    AUTO_FD int fd = openat(cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char text[CGROUP_FILE_BYTES];
    ssize_t count;
    long pid = 0;

    if (fd < 0)
        return;
    for (unsigned sent = 0; sent < CGROUP_SIGNALLED_MAX;) {
        count = read(fd, text, sizeof(text));
        if (count <= 0)
            return;
        for (ssize_t i = 0; i < count; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            /* 0 would be a process outside our pid namespace, and kill(0) our own group. */
            if (pid > 1)
                (void)kill((pid_t)pid, signal);
            pid = 0;
            sent++;
        }
    }
}

int cgroup_kill(int cgroup, struct err *err)
{
    return small_file_write(cgroup, "cgroup.kill", "1", err);
}

bool cgroup_end_unpack(int *cgroup)
{
    bool starved = *cgroup >= 0 && cgroup_keyed_number(*cgroup, "memory.events", "oom_kill") > 0;

    fd_close(cgroup);
    (void)rmdir(PLACE_UNPACK_CGROUP);
    return starved;
}

bool cgroup_empty(int cgroup)
{
    char text[CGROUP_FILE_BYTES];
    struct err ignored = ERR_INIT;

    return small_file_read(cgroup, "cgroup.events", text, sizeof(text), &ignored) == 0 &&
           strstr(text, "populated 0\n") != NULL;
}
