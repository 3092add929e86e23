/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outer machine is doing, for a person who has to tell a stalled lab from a hung command:
 * one line per user process with its state, CPU time, what it waits for in the kernel, and its
 * command line. Runs in PID 1 of the outer machine; reads only /proc.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outer.h"

/* Reads the start of a /proc file; always leaves a string. */
static size_t proc_read(const char *pid, const char *name, char *to, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, to, bytes - 1);
    if (fd >= 0)
        close(fd);
    to[n < 0 ? 0 : n] = '\0';
    return n < 0 ? 0 : (size_t)n;
}

static void process_line(const char *pid)
{
    char stat[1024];
    char wait[64];
    char command[160];
    const size_t command_bytes = proc_read(pid, "cmdline", command, sizeof(command));
    if (command_bytes == 0)
        return; /* kernel threads and zombies have none */
    for (size_t i = 0; i < command_bytes; i++)
        if (!isprint((unsigned char)command[i]))
            command[i] = ' ';
    proc_read(pid, "stat", stat, sizeof(stat));
    proc_read(pid, "wchan", wait, sizeof(wait));

    /* The name in parentheses may hold anything: fields start after the last one. */
    const char *after = strrchr(stat, ')');
    char state = '?';
    int parent = 0;
    unsigned long user_ticks = 0;
    unsigned long system_ticks = 0;
    if (after)
        sscanf(after + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &parent,
            &user_ticks, &system_ticks);
    char line[512];
    const int n = snprintf(line, sizeof(line), "%5s %5d %c %6.2f %6.2f %-20s %s\n", pid, parent,
        state, (double)user_ticks / 100, (double)system_ticks / 100, wait[0] ? wait : "-", command);
    channel_send(FRAME_REPORT, line, (size_t)n);
}

void report_send(void)
{
    const char *head = "  PID  PPID S user_s  sys_s waits_in             command\n";
    channel_send(FRAME_REPORT, head, strlen(head));
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]))
            process_line(entry->d_name);
    if (proc)
        closedir(proc);
}
