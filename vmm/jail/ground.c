/* SPDX-License-Identifier: Apache-2.0 */
/* ground.c: see ground.h. Runs in the supervisor and, up to its exec, in the child. */
#include "jail/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/powers.h"
#include "jail/root.h"

/* Byte N of this file is locked by the run that has the user ID N of the range. */
#define UID_LOCK_PATH "/run/vmrun-uids"

/* A second in all, for the children of a run that was killed to be gone. */
enum { UID_WAITS_MAX = 50, UID_WAIT_NS = 20 * 1000 * 1000 };

/* ---- remedies ---- */

static bool knob_is(const char *path, char value)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[2] = "";

    return fd >= 0 && fd_read_all(fd, text, sizeof(text)) > 0 && text[0] == value &&
           (text[1] == '\n' || text[1] == '\0');
}

static const char *ground_remedy(enum jail_ground_kind kind)
{
    if (kind == JAIL_ROOT)
        return "root needs CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID and CAP_SETPCAP here: run vmrun "
               "as "
               "an ordinary user, or give the container these capabilities";
    if (knob_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
        return "AppArmor forbids user namespaces: sysctl "
               "kernel.apparmor_restrict_unprivileged_userns=0, or give vmrun a profile with "
               "userns";
    if (knob_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
        return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1";
    if (knob_is("/proc/sys/user/max_user_namespaces", '0'))
        return "allow user namespaces: sysctl user.max_user_namespaces=10000";
    return "user namespaces are forbidden here: by a container's seccomp profile, or the kernel";
}

/* No namespaces (clone(2)), and not a full table of processes or a cgroup that takes none. */
static bool ground_is_refused(enum jail_ground_kind kind, int errnum)
{
    return kind != JAIL_WEAK &&
           (errnum == EPERM || errnum == EINVAL || errnum == ENOSPC || errnum == ENOSYS);
}

/* ---- children ---- */

static uint64_t ground_flags(enum jail_ground_kind kind)
{
    uint64_t flags = 0;

    if (kind == JAIL_WEAK)
        return 0;
    for (const struct powers_namespace *row = powers_namespaces; row->name; row++)
        flags |= (unsigned int)row->flag;
    return kind == JAIL_ROOT ? flags & ~(uint64_t)(unsigned int)CLONE_NEWUSER : flags;
}

pid_t jail_ground_fork(const struct jail_ground *ground, int *pid_fd, struct err *err)
{
    struct clone_args args = {.flags = ground_flags(ground->kind),
        .pidfd = (uint64_t)(uintptr_t)pid_fd,
        .exit_signal = SIGCHLD};
    pid_t pid;

    args.flags |= CLONE_PIDFD;
    if (ground->cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned int)ground->cgroup_fd;
    }
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid >= 0)
        return pid;
    err_sys(err, "cannot start a process in its namespaces (clone3)");
    if (ground_is_refused(ground->kind, err->errnum))
        err_remedy(err, ground_remedy(ground->kind));
    return -1;
}

static int write_small(const char *path, const char *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

/*
 * What a jail is built with survives exec as ambient capabilities: without a user 0 in the
 * namespace there is nobody to be root, and nobody who could own the files in /proc of a process
 * that is not dumpable, so that proof.c can tell by their owner.
 */
static int keep_capabilities(void)
{
    const uint32_t wanted = 1U << CAP_SYS_ADMIN | 1U << CAP_SETPCAP;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {
        {.effective = wanted, .permitted = wanted, .inheritable = wanted}};

    if (syscall(SYS_capset, &header, sets) < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) < 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETPCAP, 0, 0);
}

int jail_ground_arrive(const struct jail_ground *ground)
{
    char uids[48], gids[48];

    if (ground->kind != JAIL_USER)
        return 0;
    snprintf(uids, sizeof(uids), "%u %u 1", ground->uid, ground->uid);
    snprintf(gids, sizeof(gids), "%u %u 1", ground->gid, ground->gid);
    if (write_small("/proc/self/setgroups", "deny") < 0 ||
        write_small("/proc/self/uid_map", uids) < 0 || write_small("/proc/self/gid_map", gids) < 0)
        return -1;
    return keep_capabilities();
}

/* ---- what can be built on ---- */

int jail_ground_try(enum jail_ground_kind kind, struct err *err)
{
    struct jail_ground ground = JAIL_GROUND_INIT;
    AUTO_FD int pid_fd = -1;
    int status = -1;
    pid_t pid;

    ground.kind = kind;
    ground.uid = geteuid();
    ground.gid = getegid();
    pid = jail_ground_fork(&ground, &pid_fd, err);
    if (pid == 0)
        _exit(jail_ground_arrive(&ground) < 0 || root_empty(err) < 0 ? errno & 0xff : 0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && status == 0)
        return 0;
    if (pid > 0 && WIFEXITED(status)) {
        errno = WEXITSTATUS(status);
        err_sys(err, "cannot use namespaces");
    }
    if (pid < 0)
        return -1;
    if (!err_is_set(err))
        err_set(err, "cannot use namespaces");
    return err_remedy(err, ground_remedy(kind));
}

/* Something says that it may not work; trying costs as much as a jail, so only then. */
static bool ground_is_doubtful(enum jail_ground_kind kind)
{
    const uint32_t wanted =
        1U << CAP_SYS_ADMIN | 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_SETPCAP;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

    if (kind == JAIL_ROOT)
        return syscall(SYS_capget, &header, sets) < 0 || (sets[0].effective & wanted) != wanted;
    return knob_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1') ||
           knob_is("/proc/sys/kernel/unprivileged_userns_clone", '0') ||
           knob_is("/proc/sys/user/max_user_namespaces", '0');
}

/*
 * A run that was killed lets go of its user ID while its children still die, and until they are
 * dead they could do to the next ones what their jails let them. By real user ID; a zombie counts.
 */
static bool uid_is_in_use(uid_t uid)
{
    errno = 0;
    return getpriority(PRIO_USER, uid) != -1 || errno != ESRCH;
}

/* Returns 1 when the lock of user ID UID is FD's, 0 when it is taken, -1. */
static int uid_lock(int fd, short type, uid_t uid, struct err *err)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)uid, .l_len = 1};

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 1;
    if (errno == EAGAIN || errno == EACCES)
        return 0;
    return err_sys(err, "cannot lock a user ID in %s", UID_LOCK_PATH);
}

/*
 * Lock the first user ID that neither a run nor a process has. Returns 0 when there is none; LEFT
 * says whether that may change soon: no run has it, but a process.
 */
static int uid_choose(
    int fd, const struct jail_ground_wish *wish, uid_t *uid, bool *left, struct err *err)
{
    *left = false;
    for (uint32_t i = 0; i < wish->count; i++) {
        int locked;

        *uid = wish->first_uid + i;
        locked = uid_lock(fd, F_WRLCK, *uid, err);
        if (locked < 0 || (locked > 0 && !uid_is_in_use(*uid)))
            return locked;
        *left |= locked > 0;
        if (locked > 0 && uid_lock(fd, F_UNLCK, *uid, err) < 0)
            return -1;
    }
    return 0;
}

/* A user ID that no other run of this host has, for as long as lock_fd is open. */
static int ground_take_uid(
    struct jail_ground *ground, const struct jail_ground_wish *wish, struct err *err)
{
    const struct timespec pause = {.tv_nsec = UID_WAIT_NS};
    AUTO_FD int fd = open(UID_LOCK_PATH, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;
    bool left = true;

    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, "cannot open %s, which says what user IDs are taken", UID_LOCK_PATH);
    if (!S_ISREG(status.st_mode) || status.st_uid != 0 || (status.st_mode & 077))
        return err_set(err, "%s is not a file of root's own: remove it", UID_LOCK_PATH);
    for (int wait = 0; left && wait < UID_WAITS_MAX; wait++) {
        int chosen = uid_choose(fd, wish, &ground->uid, &left, err);

        if (chosen < 0)
            return -1;
        if (chosen > 0) {
            ground->gid = ground->uid;
            ground->lock_fd = fd_take(&fd);
            return 0;
        }
        if (left)
            (void)nanosleep(&pause, NULL);
    }
    return err_set(err,
        "all %u user IDs from %u on are taken by other runs or processes: see [machine] "
        "jail_uids",
        wish->count, wish->first_uid);
}

int jail_ground_make(
    struct jail_ground *ground, const struct jail_ground_wish *wish, struct err *err)
{
    struct err refused = ERR_INIT;

    *ground = (struct jail_ground)JAIL_GROUND_INIT;
    ground->kind = geteuid() == 0 ? JAIL_ROOT : JAIL_USER;
    ground->uid = geteuid();
    ground->gid = getegid();
    ground->debug = wish->debug;
    ground->parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (ground->parent_fd < 0)
        return err_sys(err, "cannot make a pidfd");
    if ((wish->allow_weaker || ground_is_doubtful(ground->kind)) &&
        jail_ground_try(ground->kind, &refused) < 0) {
        if (!wish->allow_weaker)
            return err_set(
                err, "%s; or accept weaker jails: [machine] allow_weaker_jail = yes", refused.text);
        ground->kind = JAIL_WEAK;
        return 0;
    }
    return ground->kind == JAIL_ROOT ? ground_take_uid(ground, wish, err) : 0;
}

void jail_ground_free(struct jail_ground *ground)
{
    fd_close(&ground->parent_fd);
    fd_close(&ground->lock_fd);
}
