/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof.c: see proof.h. Runs in the supervisor. The child is trusted until the gate is open, and a
 * mistake of ours in its jail is what is looked for.
 */
#include "jail/proof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/powers.h"
#include "jail/root.h"

enum { PROC_FILE_BYTES = 8192 };

const char *const jail_control_names[JAIL_CONTROLS] = {"user_namespace", "mount_namespace",
    "pid_namespace", "net_namespace", "ipc_namespace", "uts_namespace", "cgroup_namespace",
    "empty_root", "exact_fds", "own_uid", "no_new_privs", "no_capabilities", "seccomp", "rlimits",
    "not_dumpable", "landlock", "cgroup"};

/* Files in /proc of a process that is not dumpable are root's: nothing is seen when it is root. */
static bool owner_tells(uid_t uid)
{
    return uid != 0;
}

uint32_t jail_controls_due(enum jail_ground_kind kind, uid_t uid)
{
    uint32_t all = JAIL_CONTROL_CGROUP - 1;
    uint32_t namespaces = JAIL_CONTROL_EMPTY_ROOT - 1;

    if (landlock_abi() == 0)
        all &= ~(uint32_t)JAIL_CONTROL_LANDLOCK;
    if (!owner_tells(uid))
        all &= ~(uint32_t)JAIL_CONTROL_NOT_DUMPABLE;

    switch (kind) {
    case JAIL_ROOT:
        return all & ~(uint32_t)JAIL_CONTROL_USER_NS;
    case JAIL_USER:
        return all & ~(uint32_t)JAIL_CONTROL_OWN_UID;
    default:
        return all & ~(namespaces | JAIL_CONTROL_EMPTY_ROOT | JAIL_CONTROL_OWN_UID);
    }
}

/* ---- confined ---- */

static int proof_namespaces(pid_t pid, uint32_t due, uint32_t *controls, struct err *err)
{
    for (uint32_t i = 0; powers_namespaces[i].name; i++) {
        struct stat theirs, ours;
        char path[64];

        if (!(due & (1U << i)))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, powers_namespaces[i].name);
        if (stat(path, &theirs) < 0)
            return err_sys(err, "cannot read %s", path);
        snprintf(path, sizeof(path), "/proc/self/ns/%s", powers_namespaces[i].name);
        if (stat(path, &ours) < 0)
            return err_sys(err, "cannot read %s", path);
        if (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
            return err_set(err, "its %s namespace is the supervisor's", powers_namespaces[i].name);
        *controls |= 1U << i;
    }
    return 0;
}

static int proof_root(pid_t pid, uint32_t *controls, struct err *err)
{
    struct statvfs status;
    const struct dirent *entry;
    DIR *directory;
    char path[64];
    int found = 0;

    snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
    if (statvfs(path, &status) < 0)
        return err_sys(err, "cannot look at its root");
    if (!(status.f_flag & ST_RDONLY))
        return err_set(err, "its root can be written");
    directory = opendir(path);
    if (!directory)
        return err_sys(err, "cannot list its root");
    while ((entry = readdir(directory)))
        found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    if (found)
        return err_set(err, "its root has %d entries", found);
    *controls |= JAIL_CONTROL_EMPTY_ROOT;
    return 0;
}

static int proof_fds(pid_t pid, const int *fds, size_t count, uint32_t *controls, struct err *err)
{
    const struct dirent *entry;
    size_t found = 0, known = 0;
    DIR *directory;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    directory = opendir(path);
    if (!directory)
        return err_sys(err, "cannot list its descriptors");
    while ((entry = readdir(directory))) {
        int fd = atoi(entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        found++;
        for (size_t i = 0; i < count; i++)
            known += fds[i] == fd;
    }
    closedir(directory);
    if (found != count || known != count)
        return err_set(err, "it has %zu descriptors, %zu of them its own, instead of %zu", found,
            known, count);
    *controls |= JAIL_CONTROL_FDS;
    return 0;
}

static int proof_landlock(uint32_t abi, uint32_t *controls, struct err *err)
{
    uint32_t wanted = (uint32_t)landlock_abi();

    if (abi != wanted)
        return err_set(err, "Landlock of ABI %u confines it, not %u", abi, wanted);
    if (wanted > 0)
        *controls |= JAIL_CONTROL_LANDLOCK;
    return 0;
}

int proof_confined(pid_t pid, const struct jail_ground *ground, const int *fds, size_t fd_count,
    uint32_t abi, uint32_t *controls, struct err *err)
{
    uint32_t due = jail_controls_due(ground->kind, ground->uid);

    if (proof_namespaces(pid, due, controls, err) < 0)
        return -1;
    if ((due & JAIL_CONTROL_EMPTY_ROOT) && proof_root(pid, controls, err) < 0)
        return -1;
    if (proof_fds(pid, fds, fd_count, controls, err) < 0)
        return -1;
    return proof_landlock(abi, controls, err);
}

/* ---- sealed ---- */

static int read_file(const char *path, char text[PROC_FILE_BYTES], struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : fd_read_all(fd, text, PROC_FILE_BYTES - 1);

    if (count < 0)
        return err_sys(err, "cannot read %s", path);
    text[count] = '\0';
    return 0;
}

/* What follows "\nNAME:" and blanks, or NULL. */
static const char *status_field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1 + strspn(at + length + 1, " \t");
    }
    return NULL;
}

static int status_number(
    const char *text, const char *name, int base, unsigned long long wanted, struct err *err)
{
    const char *field = status_field(text, name);
    char *end;

    if (!field || strtoull(field, &end, base) != wanted || end == field)
        return err_set(err, "%s is %.*s, not %llu", name, (int)(field ? strcspn(field, "\n") : 7),
            field ? field : "missing", wanted);
    return 0;
}

/* All four of them: real, effective, saved, of the file system. */
static int status_ids(const char *text, const char *name, unsigned int wanted, struct err *err)
{
    const char *field = status_field(text, name);
    unsigned int ids[4];

    if (!field || sscanf(field, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return err_set(err, "%s cannot be read", name);
    for (size_t i = 0; i < 4; i++) {
        if (ids[i] != wanted)
            return err_set(err, "%s is %u, not %u", name, ids[i], wanted);
    }
    return 0;
}

int proof_status_text(const char *text, const struct jail_ground *ground, struct err *err)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    const char *groups = status_field(text, "Groups");

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        /* Without namespaces the bounding set stays; no_new_privs makes it worthless. */
        if (ground->kind == JAIL_WEAK && strcmp(sets[i], "CapBnd") == 0)
            continue;
        if (status_number(text, sets[i], 16, 0, err) < 0)
            return -1;
    }
    if (status_number(text, "NoNewPrivs", 10, 1, err) < 0 ||
        status_number(text, "Seccomp", 10, 2, err) < 0 ||
        status_ids(text, "Uid", ground->uid, err) < 0 ||
        status_ids(text, "Gid", ground->gid, err) < 0)
        return -1;
    if (ground->kind == JAIL_ROOT && (!groups || (*groups != '\n' && *groups != '\0')))
        return err_set(err, "it is in further groups");
    return 0;
}

static int proof_threads(
    pid_t pid, const struct jail_ground *ground, unsigned int threads, struct err *err)
{
    const struct dirent *entry;
    unsigned int found = 0;
    DIR *directory;
    char path[64];
    int failed = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    directory = opendir(path);
    if (!directory)
        return err_sys(err, "cannot list its threads");
    while (failed == 0 && (entry = readdir(directory))) {
        char text[PROC_FILE_BYTES], status[64];

        if (entry->d_name[0] == '.')
            continue;
        found++;
        snprintf(status, sizeof(status), "/proc/%d/task/%d/status", (int)pid, atoi(entry->d_name));
        failed = read_file(status, text, err);
        if (failed == 0)
            failed = proof_status_text(text, ground, err);
    }
    closedir(directory);
    if (failed == 0 && found != threads)
        return err_set(err, "it has %u threads instead of %u", found, threads);
    return failed;
}

/* As fs/proc/base.c names them, for what an order can set. */
static const char *limit_name(uint32_t resource)
{
    static const char *const names[] = {[RLIMIT_CPU] = "Max cpu time",
        [RLIMIT_FSIZE] = "Max file size",
        [RLIMIT_DATA] = "Max data size",
        [RLIMIT_CORE] = "Max core file size",
        [RLIMIT_NPROC] = "Max processes",
        [RLIMIT_NOFILE] = "Max open files",
        [RLIMIT_MEMLOCK] = "Max locked memory",
        [RLIMIT_AS] = "Max address space"};

    return resource < sizeof(names) / sizeof(names[0]) ? names[resource] : NULL;
}

int proof_limits_text(const char *text, const struct jail_order *order, struct err *err)
{
    for (uint32_t i = 0; i < order->limit_count; i++) {
        const char *name = limit_name(order->limits[i].resource);
        const char *at = name ? strstr(text, name) : NULL;
        unsigned long long soft, hard;

        if (!at || sscanf(at + strlen(name), "%llu %llu", &soft, &hard) != 2)
            return err_set(err, "it has no limit of the kind \"%s\"", name ? name : "unknown");
        if (soft != order->limits[i].value || hard != order->limits[i].value)
            return err_set(err, "%s is %llu and %llu, not %llu", name, soft, hard,
                (unsigned long long)order->limits[i].value);
    }
    return 0;
}

/* Of a cgroup whose limits were read back when it was made. */
static int proof_cgroup(
    pid_t pid, const struct jail_ground *ground, uint32_t *controls, struct err *err)
{
    char text[PROC_FILE_BYTES], path[64];
    const char *name;

    if (ground->cgroup_fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (read_file(path, text, err) < 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    name = strrchr(text, '/');
    if (!name || strcmp(name + 1, ground->cgroup_name) != 0)
        return err_set(err, "it is not in the cgroup %s", ground->cgroup_name);
    *controls |= JAIL_CONTROL_CGROUP;
    return 0;
}

/* Who owns its files in /proc: itself, or root of the namespace when it is not dumpable (proc(5)).
 */
static int proof_dumpable(
    pid_t pid, const struct jail_ground *ground, uint32_t *controls, struct err *err)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (stat(path, &status) < 0)
        return err_sys(err, "cannot look at %s", path);
    if (!owner_tells(ground->uid))
        return 0;
    if (status.st_uid == ground->uid)
        return err_set(err, "it is dumpable");
    *controls |= JAIL_CONTROL_NOT_DUMPABLE;
    return 0;
}

int proof_sealed(pid_t pid, const struct jail_ground *ground, const struct jail_order *order,
    unsigned int threads, uint32_t *controls, struct err *err)
{
    uint32_t due = jail_controls_due(ground->kind, ground->uid);
    char text[PROC_FILE_BYTES], path[64];

    if (proof_threads(pid, ground, threads, err) < 0 ||
        proof_dumpable(pid, ground, controls, err) < 0 ||
        proof_cgroup(pid, ground, controls, err) < 0)
        return -1;
    *controls |= JAIL_CONTROL_NO_NEW_PRIVS | JAIL_CONTROL_NO_CAPABILITIES | JAIL_CONTROL_SECCOMP;
    if (ground->kind == JAIL_ROOT)
        *controls |= JAIL_CONTROL_OWN_UID;
    snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
    if (read_file(path, text, err) < 0 || proof_limits_text(text, order, err) < 0)
        return -1;
    *controls |= JAIL_CONTROL_RLIMITS;
    if (due & ~*controls)
        return err_set(err, "controls 0x%x are missing", due & ~*controls);
    return 0;
}
