/* SPDX-License-Identifier: Apache-2.0 */
/* The command's cgroup and, with --user, its identity. Runs in PID 1 of the outer machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outer.h"

#define GROUP_DIR   "/sys/fs/cgroup/lab"
#define CONTROLLERS "+cpuset +cpu +io +memory +pids"

void cgroup_make(const struct job *job)
{
    if (file_write("/sys/fs/cgroup/cgroup.subtree_control", CONTROLLERS) < 0)
        lab_fail("enable cgroup controllers: %s", strerror(errno));
    if (mkdir(GROUP_DIR, 0755) < 0)
        lab_fail("mkdir %s: %s", GROUP_DIR, strerror(errno));
    if (!job->user)
        return;
    /* These four are the whole of a delegation (Documentation/admin-guide/cgroup-v2.rst). */
    static const char *const delegated[] = {
        GROUP_DIR,
        GROUP_DIR "/cgroup.procs",
        GROUP_DIR "/cgroup.threads",
        GROUP_DIR "/cgroup.subtree_control",
    };
    for (size_t i = 0; i < sizeof(delegated) / sizeof(delegated[0]); i++)
        if (chown(delegated[i], LAB_UID, LAB_GID) < 0)
            lab_fail("chown %s: %s", delegated[i], strerror(errno));
}

void cgroup_enter(void)
{
    if (file_write(GROUP_DIR "/cgroup.procs", "0") < 0)
        lab_fail("enter %s: %s", GROUP_DIR, strerror(errno));
}

/* Calls back with each line of a colon-separated table; stops at the first non-zero answer. */
static long table_find(
    const char *path, long (*match)(char **fields, const void *wanted), const void *wanted)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    char line[1024];
    long found = -1;
    while (found < 0 && fgets(line, sizeof(line), file)) {
        char *fields[4] = {NULL};
        char *rest = line;
        for (int i = 0; i < 4 && rest; i++)
            fields[i] = strsep(&rest, ":\n");
        if (fields[2])
            found = match(fields, wanted);
    }
    fclose(file);
    return found;
}

static long match_name(char **fields, const void *name)
{
    return strcmp(fields[0], name) ? -1 : strtol(fields[2], NULL, 10);
}

static long match_number(char **fields, const void *number)
{
    return strcmp(fields[2], number) ? -1 : 1;
}

gid_t kvm_gid(void)
{
    const long gid = table_find("/etc/group", match_name, "kvm");
    return gid < 0 ? 36 : (gid_t)gid; /* 36: what distributions without a table entry reserve */
}

void user_make(void)
{
    if (table_find("/etc/passwd", match_number, "1000") < 0) {
        const char *line = "lab:x:1000:1000:lab:/home/lab:/bin/sh\n";
        const int fd = open("/etc/passwd", O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
            lab_fail("write /etc/passwd: %s", strerror(errno));
        close(fd);
    }
    if (mkdir("/home", 0755) < 0 && errno != EEXIST)
        lab_fail("mkdir /home: %s", strerror(errno));
    if (mkdir("/home/lab", 0700) < 0 && errno != EEXIST)
        lab_fail("mkdir /home/lab: %s", strerror(errno));
    if (chown("/home/lab", LAB_UID, LAB_GID) < 0)
        lab_fail("chown /home/lab: %s", strerror(errno));
}
