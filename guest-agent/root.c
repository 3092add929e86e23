/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root.c: see root.h. The image is the user's: a name in it may be missing or be a symlink, so
 * every mount point is looked at first. Runs in the task's init, before anything of the task does.
 */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/fd.h"
#include "confine.h"
#include "places.h"
#include "wire/wire.h"

#define ROOT_SAFE (MS_NOSUID | MS_NODEV)

enum { ROOT_OPTIONS_BYTES = 128 };

static const char *const root_mount_points[] = {"dev", "proc", "run", "sys", "task", "tmp"};

struct root_device {
    const char *path;
    unsigned major, minor;
};

static const struct root_device root_devices[] = {
    {"/dev/null", 1, 3},
    {"/dev/zero", 1, 5},
    {"/dev/full", 1, 7},
    {"/dev/random", 1, 8},
    {"/dev/urandom", 1, 9},
    {"/dev/tty", 5, 0},
};

static const char *const root_links[][2] = {
    {"/proc/self/fd", "/dev/fd"},
    {"/proc/self/fd/0", "/dev/stdin"},
    {"/proc/self/fd/1", "/dev/stdout"},
    {"/proc/self/fd/2", "/dev/stderr"},
    {"pts/ptmx", "/dev/ptmx"},
};

/* What a task that runs as root could write without any capability. */
static const char *const root_readonly_proc[] = {"/proc/sys", "/proc/irq", "/proc/fs"};

static int root_mount(const char *source, const char *target, const char *type, unsigned long flags,
    const char *options, struct err *err)
{
    if (mount(source, target, type, flags, options) < 0)
        return err_sys(err, "cannot mount %s at %s", type ? type : source, target);
    return 0;
}

static int root_mount_image(const char *target, struct err *err)
{
    const unsigned long flags = MS_RDONLY | ROOT_SAFE;
    int saved;

    if (mount(WIRE_DISK_IMAGE, target, "erofs", flags, NULL) == 0)
        return 0;
    saved = errno;
    if (mount(WIRE_DISK_IMAGE, target, "squashfs", flags, NULL) == 0)
        return 0;
    errno = saved;
    return err_sys(err, "cannot mount the image %s as EROFS", WIRE_DISK_IMAGE);
}

/*
 * An overlay works on its upper layer with the rights of whoever mounted it, at the time of the
 * mount: without CAP_SYS_RESOURCE the quota of the task holds there too.
 */
static int root_mount_overlay(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct all[_LINUX_CAPABILITY_U32S_3];
    struct __user_cap_data_struct less[_LINUX_CAPABILITY_U32S_3];
    int failed;

    if (syscall(SYS_capget, &header, all) < 0)
        return err_sys(err, "cannot read the capabilities");
    memcpy(less, all, sizeof(less));
    less[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
    if (syscall(SYS_capset, &header, less) < 0)
        return err_sys(err, "cannot give up CAP_SYS_RESOURCE");
    failed = root_mount("overlay", PLACE_ROOT, "overlay", ROOT_SAFE,
        "lowerdir=" PLACE_IMAGE ",upperdir=" PLACE_SCRATCH_UPPER ",workdir=" PLACE_SCRATCH_WORK,
        err);
    if (syscall(SYS_capset, &header, all) < 0 && failed == 0)
        return err_sys(err, "cannot take CAP_SYS_RESOURCE back");
    return failed;
}

static int root_mount_base(const struct job *job, struct err *err)
{
    if (!job->root_overlay)
        return root_mount_image(PLACE_ROOT, err);
    if (root_mount_image(PLACE_IMAGE, err) < 0)
        return -1;
    return root_mount_overlay(err);
}

/* Works on the current directory, the new root. */
static int root_check_mount_points(const struct job *job, struct err *err)
{
    for (size_t i = 0; i < sizeof(root_mount_points) / sizeof(root_mount_points[0]); i++) {
        const char *name = root_mount_points[i];
        struct stat status;

        if (job->root_overlay && mkdir(name, 0755) < 0 && errno != EEXIST)
            return err_sys(err, "cannot make the directory /%s over the image", name);
        if (fstatat(AT_FDCWD, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            return err_sys(
                err, "the image lacks the directory /%s, which is needed as a mount point", name);
        if (!S_ISDIR(status.st_mode))
            return err_set(
                err, "/%s of the image is not a directory, and is needed as a mount point", name);
    }
    return 0;
}

/*
 * The initramfs cannot be pivoted away; the new root is moved over it, and the caller's root with
 * it. What lies below is out of reach: ".." ends at the top mount.
 */
static int root_switch(struct err *err)
{
    if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
        return err_sys(err, "cannot change to the root of the task");
    return 0;
}

static int root_make_devices(struct err *err)
{
    if (root_mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
            "mode=755,size=64k,nr_inodes=64", err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(root_devices) / sizeof(root_devices[0]); i++) {
        const struct root_device *device = &root_devices[i];
        dev_t number = makedev(device->major, device->minor);

        if (mknod(device->path, S_IFCHR | 0666, number) < 0 || chmod(device->path, 0666) < 0)
            return err_sys(err, "cannot make %s", device->path);
    }
    for (size_t i = 0; i < sizeof(root_links) / sizeof(root_links[0]); i++) {
        if (symlink(root_links[i][0], root_links[i][1]) < 0)
            return err_sys(err, "cannot make %s", root_links[i][1]);
    }
    if (mkdir("/dev/shm", 0755) < 0 || mkdir("/dev/pts", 0755) < 0)
        return err_sys(err, "cannot make the directories of /dev");
    if (root_mount("tmpfs", "/dev/shm", "tmpfs", ROOT_SAFE, "mode=1777", err) < 0)
        return -1;
    return root_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=620,gid=5", err);
}

/* CPU topology, and a place for the cgroup; the rest of sysfs is devices and knobs. */
static int root_make_sys(struct err *err)
{
    static const char *const folders[] = {"/sys/devices", "/sys/devices/system",
        "/sys/devices/system/cpu", "/sys/fs", "/sys/fs/cgroup"};
    const unsigned long flags = ROOT_SAFE | MS_NOEXEC;

    if (root_mount("tmpfs", "/sys", "tmpfs", flags, "mode=755,size=64k,nr_inodes=64", err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (mkdir(folders[i], 0755) < 0)
            return err_sys(err, "cannot make %s", folders[i]);
    }
    /* /proc is still free: sysfs is there for as long as a part of it is taken. */
    if (root_mount("sysfs", "/proc", "sysfs", flags | MS_RDONLY, NULL, err) < 0 ||
        root_mount(
            "/proc/devices/system/cpu", "/sys/devices/system/cpu", NULL, MS_BIND, NULL, err) < 0)
        return -1;
    if (umount2("/proc", MNT_DETACH) < 0)
        return err_sys(err, "cannot take sysfs away again");
    return root_mount("", "/sys", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL, err);
}

static int root_make_proc(struct err *err)
{
    const unsigned long flags = ROOT_SAFE | MS_NOEXEC;

    char options[ROOT_OPTIONS_BYTES];

    /* Group 0, the default, would see what is hidden from the others. */
    snprintf(options, sizeof(options), "hidepid=invisible,gid=%u", CONFINE_INIT_ID);
    if (root_mount("proc", "/proc", "proc", flags, options, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(root_readonly_proc) / sizeof(root_readonly_proc[0]); i++) {
        const char *path = root_readonly_proc[i];

        if (root_mount(path, path, NULL, MS_BIND, NULL, err) < 0 ||
            root_mount("", path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int root_make_run(const struct job *job, struct err *err)
{
    char options[ROOT_OPTIONS_BYTES];

    snprintf(options, sizeof(options), "mode=755,uid=%u,gid=%u", job->uid, job->gid);
    return root_mount("tmpfs", "/run", "tmpfs", ROOT_SAFE, options, err);
}

int root_enter(const struct job *job, struct err *err)
{
    if (root_mount_base(job, err) < 0)
        return -1;
    if (chdir(PLACE_ROOT) < 0)
        return err_sys(err, "cannot enter the root of the task");
    if (root_check_mount_points(job, err) < 0)
        return -1;
    if (root_mount(PLACE_SCRATCH_TASK, "task", NULL, MS_BIND, NULL, err) < 0 ||
        root_mount(PLACE_SCRATCH_TMP, "tmp", NULL, MS_BIND, NULL, err) < 0)
        return -1;
    if (root_switch(err) < 0 || root_make_devices(err) < 0)
        return -1;
    if (root_make_sys(err) < 0 || root_make_proc(err) < 0)
        return -1;
    return root_make_run(job, err);
}

int root_mount_cgroup(struct err *err)
{
    return root_mount(
        "cgroup2", "/sys/fs/cgroup", "cgroup2", MS_RDONLY | ROOT_SAFE | MS_NOEXEC, NULL, err);
}
