/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c: see cgroup.h. Input: files of the kernel. */
#include "jail/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

enum { CPU_PERIOD_US = 100000 };

static int file_read(int dir_fd, const char *name, char *text, size_t size)
{
    AUTO_FD int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : fd_read_all(fd, text, size - 1);

    text[count < 0 ? 0 : count] = '\0';
    return count < 0 ? -1 : 0;
}

static int file_write(int dir_fd, const char *name, const char *text)
{
    AUTO_FD int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

enum jail_cgroup_kind jail_cgroup_kind(const char *text, char *path, size_t size)
{
    const char *line = strncmp(text, "0::/", 4) == 0 ? text : NULL;

    if (strstr(text, ":memory:") || strstr(text, ":pids:") || strstr(text, ",memory"))
        return CGROUP_V1;
    /* A cgroup that is not below the root of our namespace begins with "/..". */
    if (!line || strncmp(line + 3, "/..", 3) == 0)
        return CGROUP_NONE;
    snprintf(path, size, "/sys/fs/cgroup%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    return CGROUP_V2;
}

#define SELF_PREFIX "vmrun-"
#define SELF_SUFFIX ".self"

static bool is_self_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SELF_SUFFIX);

    return strncmp(name, SELF_PREFIX, strlen(SELF_PREFIX)) == 0 && length > suffix &&
           strcmp(name + length - suffix, SELF_SUFFIX) == 0;
}

/* One of several runs is in the self already. */
void jail_cgroup_self(const char *path, const char *id, char self[CGROUP_PATH_BYTES])
{
    const char *name = strrchr(path, '/');
    size_t length = strlen(path);

    if (name && is_self_name(name + 1)) {
        snprintf(self, CGROUP_PATH_BYTES, "%s", path);
        return;
    }
    while (length > 0 && path[length - 1] == '/')
        length--;
    snprintf(self, CGROUP_PATH_BYTES, "%.*s/" SELF_PREFIX "%s" SELF_SUFFIX, (int)length, path, id);
}

/* The directory that SELF is, or would be, in; a cgroup of version 2. Returns the fd or -1. */
static int base_open(const char *self)
{
    char path[CGROUP_PATH_BYTES];
    const char *name = strrchr(self, '/');
    struct statfs status;
    AUTO_FD int fd = -1;

    if (!name || !is_self_name(name + 1))
        return -1;
    snprintf(path, sizeof(path), "%.*s", (int)(name - self), self);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &status) < 0 || status.f_type != CGROUP2_SUPER_MAGIC)
        return -1;
    return fd_take(&fd);
}

static const char *self_name(const struct jail_cgroup *cgroup)
{
    return strrchr(cgroup->self, '/') + 1;
}

static bool has_controllers(int fd)
{
    char text[256];

    return file_read(fd, "cgroup.subtree_control", text, sizeof(text)) == 0 &&
           strstr(text, "memory") && strstr(text, "pids") && strstr(text, "cpu");
}

/* Nobody is left in the base: we were alone, and go one down. */
static int step_down(struct jail_cgroup *cgroup, struct err *why)
{
    char text[64], pid[32], procs[CGROUP_NAME_BYTES + 32];

    snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (file_read(cgroup->base_fd, "cgroup.procs", text, sizeof(text)) < 0 ||
        strcmp(text, pid) != 0)
        return err_set(why, "vmrun is not alone in its cgroup: start it with systemd-run --scope "
                            "-p Delegate=yes");
    if (mkdirat(cgroup->base_fd, self_name(cgroup), 0755) < 0)
        return err_sys(why, "the cgroup of vmrun is not delegated to it");
    cgroup->moved = true;
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", self_name(cgroup));
    if (file_write(cgroup->base_fd, procs, pid) < 0 ||
        file_write(cgroup->base_fd, "cgroup.subtree_control", "+memory +pids +cpu") < 0)
        return err_sys(why, "the controllers memory, pids and cpu cannot be had");
    return 0;
}

static int limit_write(int fd, const char *name, const char *value, struct err *why)
{
    char text[64];
    size_t length = strlen(value);

    if (file_write(fd, name, value) < 0 || file_read(fd, name, text, sizeof(text)) < 0)
        return err_sys(why, "%s cannot be set", name);
    if (strncmp(text, value, length) != 0 || text[length] != '\n')
        return err_set(why, "%s is not in force", name);
    return 0;
}

static int limits_write(int fd, const struct jail_cgroup_limits *limits, struct err *why)
{
    char memory[32], processes[32], cpus[48];

    /* The kernel counts in pages. */
    snprintf(memory, sizeof(memory), "%llu", (unsigned long long)limits->memory_bytes & ~0xfffULL);
    snprintf(processes, sizeof(processes), "%llu", (unsigned long long)limits->processes);
    snprintf(cpus, sizeof(cpus), "%llu %d", (unsigned long long)limits->cpus * CPU_PERIOD_US,
        CPU_PERIOD_US);
    if (limit_write(fd, "memory.max", memory, why) < 0 ||
        limit_write(fd, "pids.max", processes, why) < 0)
        return -1;
    return limit_write(fd, "cpu.max", cpus, why);
}

int jail_cgroup_find(struct jail_cgroup *cgroup, const char *id, struct err *why)
{
    char text[CGROUP_PATH_BYTES], path[CGROUP_PATH_BYTES];

    *cgroup = (struct jail_cgroup)JAIL_CGROUP_INIT;
    snprintf(cgroup->name, sizeof(cgroup->name), SELF_PREFIX "%s", id);
    if (file_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
        return err_sys(why, "cannot read /proc/self/cgroup");
    cgroup->kind = jail_cgroup_kind(text, path, sizeof(path));
    if (cgroup->kind == CGROUP_V1)
        return err_set(why, "the host has cgroups of version 1, which cannot be delegated safely: "
                            "boot with systemd.unified_cgroup_hierarchy=1");
    if (cgroup->kind == CGROUP_NONE)
        return err_set(why, "there are no cgroups that vmrun could see");
    jail_cgroup_self(path, id, cgroup->self);
    cgroup->base_fd = base_open(cgroup->self);
    return cgroup->base_fd < 0 ? err_set(why, "the cgroup of vmrun cannot be seen at %s", path) : 0;
}

int jail_cgroup_share(struct jail_cgroup *cgroup, struct err *why)
{
    if (has_controllers(cgroup->base_fd) || step_down(cgroup, why) == 0)
        return 0;
    jail_cgroup_free(cgroup);
    return -1;
}

static int run_make(
    struct jail_cgroup *cgroup, const struct jail_cgroup_limits *limits, struct err *why)
{
    if (mkdirat(cgroup->base_fd, cgroup->name, 0755) < 0)
        return err_sys(why, "the cgroup of vmrun is not delegated to it");
    cgroup->fd = openat(cgroup->base_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup->fd < 0)
        return err_sys(why, "cannot open a cgroup");
    return limits_write(cgroup->fd, limits, why);
}

int jail_cgroup_make(
    struct jail_cgroup *cgroup, const struct jail_cgroup_limits *limits, struct err *why)
{
    if (jail_cgroup_share(cgroup, why) < 0)
        return -1;
    if (run_make(cgroup, limits, why) == 0)
        return 0;
    jail_cgroup_free(cgroup);
    return -1;
}

/* Its processes, if we were alone, may be in it again. */
static void base_restore(int base_fd)
{
    (void)file_write(base_fd, "cgroup.subtree_control", "-memory -pids -cpu");
}

void jail_cgroup_free(struct jail_cgroup *cgroup)
{
    char pid[32];

    if (cgroup->base_fd < 0)
        return;
    fd_close(&cgroup->fd);
    (void)unlinkat(cgroup->base_fd, cgroup->name, AT_REMOVEDIR);
    if (cgroup->moved) {
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        base_restore(cgroup->base_fd);
        (void)file_write(cgroup->base_fd, "cgroup.procs", pid);
        (void)unlinkat(cgroup->base_fd, self_name(cgroup), AT_REMOVEDIR);
        cgroup->moved = false;
    }
    fd_close(&cgroup->base_fd);
}

bool jail_cgroup_clear(const char *self, const char *id, bool dry)
{
    AUTO_FD int base_fd = base_open(self);
    char name[CGROUP_NAME_BYTES];
    bool found;

    if (base_fd < 0)
        return false;
    snprintf(name, sizeof(name), SELF_PREFIX "%s", id);
    if (dry)
        return faccessat(base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    /* The kernel removes none that has a process in it. */
    found = unlinkat(base_fd, name, AT_REMOVEDIR) == 0;
    if (unlinkat(base_fd, strrchr(self, '/') + 1, AT_REMOVEDIR) < 0)
        return found;
    base_restore(base_fd);
    return true;
}
