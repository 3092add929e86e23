/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c: what a program can read of the machine that it is on. Only reads.
 */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 12000, LOG_BYTES = 1 << 20, ENTRIES_MAX = 40000, QUEUE_MAX = 8192 };
enum { SYSLOG_READ_ALL = 3 };

static char log_bytes[LOG_BYTES];

/* text PATH: the beginning of a file. */
static void text(int count, char **words)
{
    (void)count;
    static char buffer[TEXT_BYTES];
    const ptrdiff_t got = read_file(words[1], buffer, sizeof buffer);
    if (got < 0)
        fact_int("errno", -got);
    else
        fact_text("text", buffer, (size_t)got);
}

/* list PATH: the names in a directory, sorted by nobody. */
static void list(int count, char **words)
{
    (void)count;
    static char names[TEXT_BYTES];
    size_t used = 0;
    DIR *directory = opendir(words[1]);
    if (!directory) {
        fact_int("errno", errno);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || used + length + 1 > sizeof names)
            continue;
        memcpy(names + used, entry->d_name, length);
        used += length;
        names[used++] = '\n';
    }
    closedir(directory);
    fact_text("names", names, used);
}

static void machine(int count, char **words)
{
    (void)count, (void)words;
    struct utsname name;
    struct sysinfo info;
    uname(&name);
    sysinfo(&info);
    fact_string("release", name.release);
    fact_string("version", name.version);
    fact_string("node", name.nodename);
    fact_int("ram_bytes", (long long)info.totalram * info.mem_unit);
    fact_int("boottime_ns", now_ns(CLOCK_BOOTTIME));
    fact_int("realtime_ns", now_ns(CLOCK_REALTIME));
    fact_int("cpus", sysconf(_SC_NPROCESSORS_ONLN));
}

/* symbol NAME: its address in /proc/kallsyms. */
static void symbol(int count, char **words)
{
    (void)count;
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[256], found[128];
    unsigned long long address = 0;
    if (!file) {
        fact_int("errno", errno);
        return;
    }
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%llx %*c %127s", &address, found) == 2 && strcmp(found, words[1]) == 0) {
            snprintf(line, sizeof line, "%llx", address);
            fact_string("address", line);
            break;
        }
    fclose(file);
}

/* log MARK: the rest of the line of the kernel's log behind MARK. */
static void kernel_log(int count, char **words)
{
    (void)count;
    const int got = klogctl(SYSLOG_READ_ALL, log_bytes, LOG_BYTES - 1);
    fact_int("errno", got < 0 ? errno : 0);
    log_bytes[got > 0 ? got : 0] = 0;
    const char *found = strstr(log_bytes, words[1]);
    if (found)
        fact_text("text", found, strcspn(found, "\n"));
}

static int is_skipped(const char *path)
{
    return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/dev") == 0;
}

static void found_file(const char *path)
{
    char content[256];
    const ptrdiff_t got = read_file(path, content, sizeof content);
    fact_string("path", path);
    if (got >= 0)
        fact_text("text", content, (size_t)got);
    else
        fact_int("errno", -got);
}

/* walk NAME: look for a file of that name in the whole tree, level by level, and read it. */
static void walk(int count, char **words)
{
    (void)count;
    static char *queue[QUEUE_MAX];
    size_t first = 0, last = 0, entries = 0;
    queue[last++] = strdup("/");
    for (; first < last && entries < ENTRIES_MAX; first++) {
        DIR *directory = opendir(queue[first]);
        const char *parent = strcmp(queue[first], "/") ? queue[first] : "";
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            char path[PATH_MAX];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
            entries++;
            if (strcmp(entry->d_name, words[1]) == 0) {
                found_file(path);
                closedir(directory);
                fact_int("entries", (long long)entries);
                return;
            }
            if (entry->d_type == DT_DIR && last < QUEUE_MAX && !is_skipped(path))
                queue[last++] = strdup(path);
        }
        if (directory)
            closedir(directory);
    }
    fact_int("entries", (long long)entries);
}

/* Does its command line have MARK=? The launchers' have MARK too, as a word for this program. */
static int is_marked(const char *pid, const char *mark)
{
    char path[64], buffer[4096], wanted[64];
    snprintf(wanted, sizeof wanted, "%s=", mark);
    snprintf(path, sizeof path, "/proc/%.16s/cmdline", pid);
    const ptrdiff_t got = read_file(path, buffer, sizeof buffer);
    return got > 0 && memmem(buffer, (size_t)got, wanted, strlen(wanted)) != NULL;
}

/* processes MARK NAME: how many are seen; of the one with MARK in its command line, the variable
 * NAME. */
static void processes(int count, char **words)
{
    (void)count;
    static char buffer[1 << 15];
    long long seen = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s=", words[2]);
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        seen++;
        if (!is_marked(entry->d_name, words[1]))
            continue;
        char path[64];
        fact_int("pid", number(entry->d_name));
        snprintf(path, sizeof path, "/proc/%.16s/cmdline", entry->d_name);
        ptrdiff_t got = read_file(path, buffer, sizeof buffer);
        fact_text("cmdline", buffer, got > 0 ? (size_t)got : 0);
        snprintf(path, sizeof path, "/proc/%.16s/environ", entry->d_name);
        got = read_file(path, buffer, sizeof buffer);
        const char *found = got > 0 ? memmem(buffer, (size_t)got, wanted, strlen(wanted)) : 0;
        if (found)
            fact_text("environ", found, strnlen(found, (size_t)(buffer + got - found)));
        break;
    }
    if (directory)
        closedir(directory);
    fact_int("seen", seen);
}

/* variable NAME: of this program's own environment. */
static void variable(int count, char **words)
{
    (void)count;
    const char *value = getenv(words[1]);
    if (value)
        fact_string("text", value);
}

/* descriptors: which are open, by their links. */
static void descriptors(int count, char **words)
{
    (void)count, (void)words;
    char links[TEXT_BYTES], path[64], target[256];
    size_t used = 0;
    long long open_count = 0;
    for (int fd = 3; fd < 256; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t got = fcntl(fd, F_GETFD) < 0 ? -1 : readlink(path, target, sizeof target);
        open_count += fcntl(fd, F_GETFD) >= 0;
        if (got <= 0 || used + (size_t)got + 1 > sizeof links)
            continue;
        memcpy(links + used, target, (size_t)got);
        used += (size_t)got;
        links[used++] = '\n';
    }
    fact_int("open", open_count);
    fact_text("links", links, used);
}

const struct probe look_probes[] = {
    {"text", 1, text},
    {"list", 1, list},
    {"machine", 0, machine},
    {"symbol", 1, symbol},
    {"log", 1, kernel_log},
    {"walk", 1, walk},
    {"processes", 2, processes},
    {"variable", 1, variable},
    {"descriptors", 0, descriptors},
    {0},
};
