/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a bare kernel to the file tree that the command sees. Runs in PID 1 of the outer machine.
 *
 * The host's / is a read-only 9p share under an overlay with its upper layer on tmpfs: whatever is
 * written outside the working tree vanishes with the machine. The working tree is a second share,
 * mounted at the path it has on the host.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "outer.h"

int file_write(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t n = write(fd, text, strlen(text));
    const int why = errno;
    close(fd);
    errno = why;
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static void mount_must(const char *source, const char *target, const char *type,
    unsigned long flags, const char *options)
{
    if (mount(source, target, type, flags, options) < 0)
        lab_fail("mount %s (%s) on %s: %s", source, type, target, strerror(errno));
}

static void directory_make(const char *path)
{
    char part[4096];
    const size_t length = strlen(path);
    if (length >= sizeof(part))
        lab_fail("path too long: %s", path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            lab_fail("mkdir %s: %s", part, strerror(errno));
    }
}

static void module_load(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        lab_fail("open %s: %s", path, strerror(errno));
    if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
        lab_fail("load module %s: %s", path, strerror(errno));
    close(fd);
}

/*
 * KVM remembers the clock rate of the moment when it is loaded, and gives up on it when the kernel
 * refines its own by more than 250 ppm a second later: timers of guests then never fire. So KVM
 * waits for the refined rate, which shows in the clock source's name; where it never comes, nothing
 * changes.
 */
static void clock_rate_wait(void)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    for (int i = 0; i < 150; i++) {
        char name[16] = "";
        const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
            O_RDONLY | O_CLOEXEC);
        const ssize_t count = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
        if (fd >= 0)
            close(fd);
        if (count > 0 && strcmp(name, "tsc\n") == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

void boot_devices(void)
{
    mount_must("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    mount_must("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    mount_must("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=755");

    /* The image builder numbered the files in the order of their dependencies. */
    struct dirent **names = NULL;
    const int count = scandir("/modules", &names, NULL, alphasort);
    if (count < 0)
        lab_fail("list /modules: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[300];
        snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
        if (strstr(path, "-kvm.ko") != NULL)
            clock_rate_wait();
        if (names[i]->d_name[0] != '.')
            module_load(path);
        free(names[i]);
    }
    free(names);
}

static void loopback_up(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        lab_fail("bring up lo: %s", strerror(errno));
    close(fd);
}

/* What udev and systemd-tmpfiles would add to a devtmpfs. */
static void device_nodes_make(void)
{
    static const char *const links[][2] = {
        {"/proc/self/fd", "/dev/fd"},
        {"/proc/self/fd/0", "/dev/stdin"},
        {"/proc/self/fd/1", "/dev/stdout"},
        {"/proc/self/fd/2", "/dev/stderr"},
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (symlink(links[i][0], links[i][1]) < 0)
            lab_fail("link %s: %s", links[i][1], strerror(errno));

    /* Opening one of these makes the kernel load its module, by modprobe from the host's tree. */
    static const struct {
        const char *path;
        unsigned int major, minor;
    } nodes[] = {
        {"/dev/loop-control", 10, 237},
        {"/dev/fuse", 10, 229},
        {"/dev/net/tun", 10, 200},
        {"/dev/vhost-vsock", 10, 241},
    };
    directory_make("/dev/net");
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        const dev_t device = makedev(nodes[i].major, nodes[i].minor);
        if (mknod(nodes[i].path, S_IFCHR | 0600, device) < 0 && errno != EEXIST)
            lab_fail("mknod %s: %s", nodes[i].path, strerror(errno));
    }
    if (chown("/dev/kvm", 0, kvm_gid()) < 0 || chmod("/dev/kvm", 0660) < 0)
        lab_fail("/dev/kvm: %s", strerror(errno));
}

static void overlay_mount(const struct job *job)
{
    char options[256];
    const char *common = "trans=virtio,version=9p2000.L";
    snprintf(options, sizeof(options), "%s,%s", common, job->root_options);
    directory_make("/host");
    mount_must("host", "/host", "9p", MS_RDONLY, options);
    directory_make("/layer");
    mount_must("layer", "/layer", "tmpfs", 0, "mode=755");
    directory_make("/layer/upper");
    directory_make("/layer/work");
    directory_make("/root");
    mount_must(
        "lab", "/root", "overlay", 0, "lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work");
    if (chdir("/root") < 0)
        lab_fail("chdir /root: %s", strerror(errno));
}

/* The kernel's own file systems, and tmpfs where files need what 9p cannot do (see README.md). */
static void system_mounts(void)
{
    static const struct {
        const char *type, *target;
        unsigned long flags;
        const char *options;
        int optional;
    } mounts[] = {
        {"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=620,ptmxmode=666", 0},
        {"tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777", 0},
        {"tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755", 0},
        {"tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777", 0},
        {"cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, "nsdelegate", 0},
        {"securityfs", "/sys/kernel/security", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, 0},
        {"tracefs", "/sys/kernel/tracing", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, 1},
        {"debugfs", "/sys/kernel/debug", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, 1},
    };
    directory_make("/dev/pts");
    directory_make("/dev/shm");
    directory_make("/run");
    directory_make("/tmp");
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        if (mount(mounts[i].type, mounts[i].target, mounts[i].type, mounts[i].flags,
                mounts[i].options) < 0 &&
            !mounts[i].optional)
            lab_fail("mount %s on %s: %s", mounts[i].type, mounts[i].target, strerror(errno));
    }
}

/*
 * The overlay becomes / by moving the mount. A plain chroot would leave the process with a root
 * that is not the root of its mount namespace, and the kernel then refuses to create user
 * namespaces.
 */
static void root_move(void)
{
    static const char *const keep[] = {"proc", "sys", "dev"};
    for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
        char from[16];
        char to[32];
        snprintf(from, sizeof(from), "/%s", keep[i]);
        snprintf(to, sizeof(to), "/root/%s", keep[i]);
        directory_make(to);
        mount_must(from, to, "", MS_MOVE, NULL);
    }
    if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
        lab_fail("move the root: %s", strerror(errno));
}

/* Modules that are not in the initramfs are in the working tree; modprobe finds them from here. */
static void modules_offer(const struct job *job)
{
    char from[4200];
    snprintf(from, sizeof(from), "%s/build/lab/kernel/lib/modules", job->tree);
    directory_make("/lib/modules");
    mount_must(from, "/lib/modules", "", MS_BIND, NULL);
}

void boot_root(const struct job *job)
{
    char options[256];
    overlay_mount(job);
    root_move();
    system_mounts();
    device_nodes_make();
    directory_make(job->tree);
    snprintf(options, sizeof(options), "trans=virtio,version=9p2000.L,%s", job->tree_options);
    mount_must("tree", job->tree, "9p", 0, options);
    modules_offer(job);
    /* As on a machine with an init system: what a new mount namespace starts from is shared. */
    mount_must("none", "/", "", MS_REC | MS_SHARED, NULL);
    /* A lab that is killed at its time limit should have lost no more than the last second. */
    file_write("/proc/sys/vm/dirty_writeback_centisecs", "50");
    file_write("/proc/sys/vm/dirty_expire_centisecs", "100");
    loopback_up();
    if (sethostname("lab", 3) < 0)
        lab_fail("sethostname: %s", strerror(errno));
}
