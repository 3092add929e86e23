/* SPDX-License-Identifier: Apache-2.0 */
/* controls.c: see controls.h. Input: the guest kernel's. */
#include "controls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup.h"
#include "small_file.h"

enum { CONTROLS_TEXT_BYTES = 4096, CONTROLS_PATH_BYTES = 64, CONTROLS_SECCOMP_FILTER = 2 };

struct control_name {
    uint64_t control;
    const char *name;
};

static const struct control_name control_names[] = {
    {WIRE_CONTROL_CGROUP, "own cgroup"},
    {WIRE_CONTROL_MEMORY_MAX, "memory limit"},
    {WIRE_CONTROL_PIDS_MAX, "process limit"},
    {WIRE_CONTROL_UID, "unprivileged user"},
    {WIRE_CONTROL_NO_NEW_PRIVS, "no_new_privs"},
    {WIRE_CONTROL_NO_CAPS, "no capabilities"},
    {WIRE_CONTROL_NAMESPACES, "own namespaces"},
    {WIRE_CONTROL_SECCOMP, "seccomp filter"},
    {WIRE_CONTROL_ROOT_READONLY, "read-only root"},
    {WIRE_CONTROL_RLIMITS, "resource limits"},
};

/* What follows "KEY:" and white space on its line of STATUS; NULL when there is no such line. */
static const char *status_value(const char *status, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
    }
    return NULL;
}

static bool status_number_is(const char *status, const char *key, int base, uint64_t number)
{
    const char *value = status_value(status, key);
    char *end;

    return value && *value != '\n' && strtoull(value, &end, base) == number && *end == '\n';
}

/* The four ids of "Uid:" or "Gid:" are all ID. */
static bool status_ids_are(const char *status, const char *key, uint32_t id)
{
    const char *value = status_value(status, key);

    for (int i = 0; value && i < 4; i++) {
        char *end;

        if (strtoull(value, &end, 10) != id || end == value)
            return false;
        value = end;
    }
    return value && *value == '\n';
}

uint64_t controls_of_status(const char *status, const struct job *job)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    const char *groups = status_value(status, "Groups");
    uint64_t controls = 0;
    bool no_caps = true;

    if (job->uid != 0 && status_ids_are(status, "Uid", job->uid) &&
        status_ids_are(status, "Gid", job->gid) && groups && *groups == '\n')
        controls |= WIRE_CONTROL_UID;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        no_caps = no_caps && status_number_is(status, sets[i], 16, 0);
    if (no_caps)
        controls |= WIRE_CONTROL_NO_CAPS;
    if (status_number_is(status, "NoNewPrivs", 10, 1))
        controls |= WIRE_CONTROL_NO_NEW_PRIVS;
    if (status_number_is(status, "Seccomp", 10, CONTROLS_SECCOMP_FILTER))
        controls |= WIRE_CONTROL_SECCOMP;
    return controls;
}

static bool controls_namespaces(int process)
{
    static const char *const names[] = {"pid", "mnt", "ipc", "uts", "net", "cgroup"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char own[CONTROLS_PATH_BYTES], theirs[CONTROLS_PATH_BYTES];
        struct stat own_status, their_status;

        snprintf(own, sizeof(own), "/proc/self/ns/%s", names[i]);
        snprintf(theirs, sizeof(theirs), "ns/%s", names[i]);
        if (stat(own, &own_status) < 0 || fstatat(process, theirs, &their_status, 0) < 0 ||
            own_status.st_ino == their_status.st_ino)
            return false;
    }
    return true;
}

static bool controls_rlimit(pid_t pid, int resource, uint64_t value)
{
    struct rlimit limit;

    return syscall(SYS_prlimit64, pid, resource, NULL, &limit) == 0 && limit.rlim_cur == value &&
           limit.rlim_max == value;
}

static uint64_t controls_expected(const struct job *job)
{
    uint64_t expected = 0;

    for (size_t i = 0; i < sizeof(control_names) / sizeof(control_names[0]); i++)
        expected |= control_names[i].control;
    if (job->uid == 0)
        expected &= ~(uint64_t)WIRE_CONTROL_UID;
    if (job->root_overlay)
        expected &= ~(uint64_t)WIRE_CONTROL_ROOT_READONLY;
    return expected;
}

static uint64_t controls_of_process(int process, pid_t pid, const struct job *job)
{
    char text[CONTROLS_TEXT_BYTES], root[CONTROLS_PATH_BYTES];
    struct err ignored = ERR_INIT;
    struct statvfs file_system;
    uint64_t controls = 0;

    if (small_file_read(process, "status", text, sizeof(text), &ignored) == 0)
        controls |= controls_of_status(text, job);
    if (small_file_read(process, "cgroup", text, sizeof(text), &ignored) == 0 &&
        strcmp(text, "0::/task\n") == 0)
        controls |= WIRE_CONTROL_CGROUP;
    if (controls_namespaces(process))
        controls |= WIRE_CONTROL_NAMESPACES;
    snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
    if (statvfs(root, &file_system) == 0 && (file_system.f_flag & ST_RDONLY))
        controls |= WIRE_CONTROL_ROOT_READONLY;
    if (controls_rlimit(pid, RLIMIT_NOFILE, job->open_files) &&
        controls_rlimit(pid, RLIMIT_CORE, 0))
        controls |= WIRE_CONTROL_RLIMITS;
    return controls;
}

int controls_verify(
    const struct task *task, const struct job *job, uint64_t *controls, struct err *err)
{
    char path[CONTROLS_PATH_BYTES];
    AUTO_FD int process = -1;
    uint64_t missing;
    pid_t pid;

    if (cgroup_only_pid(task->cgroup, &pid, err) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return err_sys(err, "cannot look at the task's first process");
    *controls = controls_of_process(process, pid, job);
    if (cgroup_memory_limited(task->cgroup, job))
        *controls |= WIRE_CONTROL_MEMORY_MAX;
    if (cgroup_pids_limited(task->cgroup, job))
        *controls |= WIRE_CONTROL_PIDS_MAX;
    missing = controls_expected(job) & ~*controls;
    for (size_t i = 0; i < sizeof(control_names) / sizeof(control_names[0]); i++) {
        if (missing & control_names[i].control)
            return err_set(err, "a control of the task is not in force: %s", control_names[i].name);
    }
    return 0;
}
