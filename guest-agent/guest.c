/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c: see guest.h. Input: the job and the template of the scratch disk, both ours. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "places.h"
#include "small_file.h"

/* fs/ext4/ext4.h; not in the kernel's user headers. */
#define GUEST_EXT4_RESIZE _IOW('f', 16, uint64_t)

/* [limits] boot and what comes before it: no more passes between the job and its arrival. */
#define GUEST_BOOT_MAX_NS (1200 * NS_PER_S)

/* include/uapi/linux/mount.h; musl has no name for it. */
#define GUEST_MS_NOSYMFOLLOW 256UL

enum {
    GUEST_BLOCK_BYTES = 4096,
    /* With less left, the disk was full: the next write of a program's buffer fails. */
    GUEST_FULL_BYTES = 64 << 10,
};

void guest_describe(struct wire_hello *hello, uint64_t started_ns)
{
    struct utsname name;
    struct sysinfo info;
    cpu_set_t cpus;

    hello->version = WIRE_VERSION;
    hello->uptime_ns = started_ns;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        hello->cpu_count = (uint32_t)CPU_COUNT(&cpus);
    if (sysinfo(&info) == 0)
        hello->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
    if (uname(&name) == 0)
        memcpy(hello->release, name.release, strnlen(name.release, WIRE_RELEASE_BYTES));
}

int guest_prepare(struct err *err)
{
    const unsigned long flags = MS_NOSUID | MS_NOEXEC;

    if (mount("devtmpfs", "/dev", "devtmpfs", flags, NULL) < 0)
        return err_sys(err, "cannot mount /dev");
    if (mount("proc", "/proc", "proc", flags | MS_NODEV, NULL) < 0)
        return err_sys(err, "cannot mount /proc");
    /* nsdelegate: a task that runs as root cannot write its own limits. */
    if (mount("cgroup2", PLACE_CGROUP, "cgroup2", flags | MS_NODEV, "nsdelegate") < 0)
        return err_sys(err, "cannot mount cgroups");
    /* Dirty pages reach the disk within a second or two: if the guest dies, they are there. */
    if (small_file_write(AT_FDCWD, "/proc/sys/vm/dirty_writeback_centisecs", "100", err) < 0 ||
        small_file_write(AT_FDCWD, "/proc/sys/vm/dirty_expire_centisecs", "100", err) < 0)
        return -1;
    return small_file_write(AT_FDCWD, "/proc/self/oom_score_adj", "-1000", err);
}

int guest_set_clock(uint64_t clock_ns, struct err *err)
{
    uint64_t own_ns = clock_real_ns();
    uint64_t now_ns = clock_ns + clock_mono_ns();
    struct timespec now = {
        .tv_sec = (time_t)(now_ns / NS_PER_S), .tv_nsec = (long)(now_ns % NS_PER_S)};

    if (own_ns >= clock_ns && own_ns - clock_ns < GUEST_BOOT_MAX_NS)
        return 0;
    if (clock_settime(CLOCK_REALTIME, &now) < 0)
        return err_sys(err, "cannot set the clock");
    return 0;
}

static int guest_grow_scratch(uint64_t bytes, struct err *err)
{
    uint64_t blocks = bytes / GUEST_BLOCK_BYTES;
    AUTO_FD int fd = open(PLACE_SCRATCH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "cannot open the scratch file system");
    if (ioctl(fd, GUEST_EXT4_RESIZE, &blocks) < 0)
        return err_sys(
            err, "cannot grow the scratch file system to %llu bytes", (unsigned long long)bytes);
    return 0;
}

static int guest_make_folder(const char *path, uid_t uid, gid_t gid, mode_t mode, struct err *err)
{
    if (mkdir(path, 0700) < 0 || chown(path, uid, gid) < 0 || chmod(path, mode) < 0)
        return err_sys(err, "cannot make %s on the scratch disk", path);
    return 0;
}

/*
 * Files are counted by their owner, which no task can change: it has no capability. (A project can
 * be changed by the owner of a file.) A limit that the disk is too small for needs no quota.
 */
static int guest_limit_inodes(const struct job *job, struct err *err)
{
    struct dqblk quota = {0};
    struct statfs room;

    if (statfs(PLACE_SCRATCH, &room) < 0)
        return err_sys(err, "cannot look at the scratch file system");
    if (job->inodes >= room.f_ffree)
        return 0;
    if (quotactl(QCMD(Q_GETQUOTA, USRQUOTA), WIRE_DISK_SCRATCH, (int)job->uid, (void *)&quota) < 0)
        return err_sys(err, "cannot read the quota of the task");
    quota.dqb_ihardlimit = quota.dqb_curinodes + job->inodes;
    quota.dqb_valid = QIF_ILIMITS;
    if (quotactl(QCMD(Q_SETQUOTA, USRQUOTA), WIRE_DISK_SCRATCH, (int)job->uid, (void *)&quota) < 0)
        return err_sys(err, "cannot limit the files of the task");
    return 0;
}

uint32_t guest_scratch_limits(const struct job *job)
{
    struct dqblk quota = {0};
    struct statfs room;
    uint32_t limits = 0;

    if (statfs(PLACE_SCRATCH, &room) == 0) {
        if ((uint64_t)room.f_bavail * (uint64_t)room.f_bsize < GUEST_FULL_BYTES)
            limits |= WIRE_LIMIT_DISK;
        if (room.f_ffree == 0)
            limits |= WIRE_LIMIT_INODES;
    }
    if (quotactl(QCMD(Q_GETQUOTA, USRQUOTA), WIRE_DISK_SCRATCH, (int)job->uid, (void *)&quota) ==
            0 &&
        quota.dqb_ihardlimit > 0 && quota.dqb_curinodes >= quota.dqb_ihardlimit)
        limits |= WIRE_LIMIT_INODES;
    return limits;
}

static int guest_make_folders(const struct job *job, struct err *err)
{
    if (guest_make_folder(PLACE_SCRATCH_TASK, job->uid, job->gid, 0755, err) < 0 ||
        guest_make_folder(PLACE_SCRATCH_TMP, 0, 0, 01777, err) < 0)
        return -1;
    if (!job->root_overlay)
        return 0;
    if (guest_make_folder(PLACE_SCRATCH_UPPER, 0, 0, 0755, err) < 0)
        return -1;
    return guest_make_folder(PLACE_SCRATCH_WORK, 0, 0, 0700, err);
}

int guest_mount_scratch(const struct job *job, struct err *err)
{
    /* noinit_itable: no kernel thread that zeroes inode tables, and so fills a sparse disk.
     * discard: what the task removes is room on the host again, at once. */
    if (mount(WIRE_DISK_SCRATCH, PLACE_SCRATCH, "ext4", MS_NOATIME | MS_NOSUID | MS_NODEV,
            "noinit_itable,discard,errors=remount-ro,usrquota") < 0)
        return err_sys(err, "cannot mount the scratch disk %s", WIRE_DISK_SCRATCH);
    if (guest_grow_scratch(job->scratch_bytes, err) < 0)
        return -1;
    if (guest_make_folders(job, err) < 0)
        return -1;
    return guest_limit_inodes(job, err);
}

int guest_mount_salvage(struct err *err)
{
    const unsigned long flags =
        MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | GUEST_MS_NOSYMFOLLOW;

    /* noload: a journal that was never there is not replayed. errors: what the disk says of it, a
     * panic perhaps, does not count. */
    if (mount(WIRE_DISK_SCRATCH, PLACE_SCRATCH, "ext4", flags, "noload,errors=continue") < 0)
        return err_sys(err, "cannot mount the scratch disk %s", WIRE_DISK_SCRATCH);
    return 0;
}
