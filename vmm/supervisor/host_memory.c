/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.c: see host_memory.h. Input: files of /proc and of the cgroup file systems. */
#include "supervisor/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

enum { SMALL_FILE_BYTES = 16384, PATH_BYTES = 4096 };

/* The names that both versions of cgroups have for the same three things. */
struct cgroup_files {
    const char *mount, *limit, *usage, *inactive;
};

static const struct cgroup_files cgroup_v1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
    "memory.usage_in_bytes", "\ntotal_inactive_file "};
static const struct cgroup_files cgroup_v2 = {
    "/sys/fs/cgroup", "memory.max", "memory.current", "\ninactive_file "};

uint64_t run_memory_bytes(const struct config *config)
{
    /* The first is far below 2^63. */
    return config->memory_bytes + config->memory_bytes / RUN_TABLES_SHARE + RUN_OVERHEAD_BYTES;
}

/* PATH as text with a newline in front, so that "\nkey" finds a line. False when it is not there.
 */
static bool file_read(const char *path, char text[SMALL_FILE_BYTES])
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : fd_read_all(fd, text + 1, SMALL_FILE_BYTES - 2);

    if (size < 0)
        return false;
    text[0] = '\n';
    text[size + 1] = '\0';
    return true;
}

static bool file_read_in(const char *directory, const char *name, char text[SMALL_FILE_BYTES])
{
    char path[PATH_BYTES + 64]; /* a name is one of ours */

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return file_read(path, text);
}

/* The number after KEY. */
static bool text_number(const char *text, const char *key, uint64_t *value)
{
    const char *at = strstr(text, key);

    return at && sscanf(at + strlen(key), "%" SCNu64, value) == 1;
}

static uint64_t minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* One cgroup: files that are not there, and "max", limit nothing. */
static void cgroup_apply(
    const char *directory, const struct cgroup_files *files, struct host_memory *memory)
{
    uint64_t limit, usage, inactive = 0;
    char text[SMALL_FILE_BYTES];

    if (!file_read_in(directory, files->limit, text) || !text_number(text, "\n", &limit) ||
        !file_read_in(directory, files->usage, text) || !text_number(text, "\n", &usage))
        return;
    /* Page cache that nobody uses is dropped before the limit counts. */
    if (file_read_in(directory, "memory.stat", text))
        text_number(text, files->inactive, &inactive);
    memory->total_bytes = u64_min(memory->total_bytes, limit);
    memory->available_bytes =
        u64_min(memory->available_bytes, minus(limit, minus(usage, inactive)));
}

/* The cgroup at PATH (changed) and all that it lies in. */
static void cgroup_apply_all(
    const char *root, char *path, const struct cgroup_files *files, struct host_memory *memory)
{
    if (strstr(path, "/..")) /* outside of our cgroup namespace: its root is all that is seen */
        path[0] = '\0';
    for (;;) {
        char directory[PATH_BYTES];
        int length = snprintf(directory, sizeof(directory), "%s%s%s", root, files->mount, path);
        char *slash = strrchr(path, '/');

        if (length < PATH_BYTES) /* else the kernel would not take it either */
            cgroup_apply(directory, files, memory);
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/path" (v2), "7:memory:/path" (v1). */
static void cgroups_apply(const char *root, struct host_memory *memory)
{
    char text[SMALL_FILE_BYTES], *rest = NULL;

    if (!file_read_in(root, "proc/self/cgroup", text))
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!group)
            continue;
        *group++ = '\0';
        if (strcmp(controllers, ":") == 0)
            cgroup_apply_all(root, group, &cgroup_v2, memory);
        else if (strcmp(controllers, ":memory") == 0)
            cgroup_apply_all(root, group, &cgroup_v1, memory);
    }
}

int host_memory_read(const char *root, struct host_memory *memory, struct err *err)
{
    char text[SMALL_FILE_BYTES];
    uint64_t total_kib, available_kib;

    if (!file_read_in(root, "proc/meminfo", text))
        return err_sys(err, "cannot read %s/proc/meminfo", root);
    if (!text_number(text, "\nMemTotal:", &total_kib) ||
        !text_number(text, "\nMemAvailable:", &available_kib))
        return err_set(err, "%s/proc/meminfo: MemTotal or MemAvailable is missing", root);
    memory->total_bytes = total_kib * KIB;
    memory->available_bytes = available_kib * KIB;
    cgroups_apply(root, memory);
    return 0;
}

uint64_t host_oom_kills(const char *root)
{
    char text[SMALL_FILE_BYTES];
    uint64_t count;

    if (!file_read_in(root, "proc/vmstat", text) || !text_number(text, "\noom_kill ", &count))
        return HOST_OOM_UNKNOWN;
    return count;
}

static uint64_t process_resident_bytes(pid_t pid)
{
    char path[64], text[SMALL_FILE_BYTES];
    uint64_t pages = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    if (!file_read(path, text) || sscanf(text, "%*u %" SCNu64, &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t run_resident_bytes(pid_t pid)
{
    uint64_t bytes = process_resident_bytes(pid);
    char path[64], text[SMALL_FILE_BYTES], *rest = NULL;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!file_read(path, text))
        return bytes;
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
        bytes += process_resident_bytes((pid_t)atoi(word));
    return bytes;
}
