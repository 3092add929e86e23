/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the kernel's smoke test: tries from user space what must-have.list promises and what
 * must-lack.list forbids, prints one line a check on the console, and resets the machine. Here:
 * the machine, limits and separation, as the agent uses them; smoke-programs.c has the rest.
 * Runs in a throw-away guest that `smoke` starts; its only input is the two disks made there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smoke.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define EXT4_IOC_RESIZE_FS _IOW('f', 16, uint64_t)

enum { GROWN_BLOCKS = 65536, TASK_UID = 1000, OOM_LIMIT_MIB = 16, OOM_TOUCH_MIB = 64 };

int wrong(void)
{
    errno = 0;
    return -1;
}

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t done = write(fd, text, strlen(text));
    int saved = errno;
    close(fd);
    errno = saved;
    return done == (ssize_t)strlen(text) ? 0 : -1;
}

int read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    if (got < 0) {
        return -1;
    }
    text[got] = '\0';
    return 0;
}

int mount_on(
    const char *type, const char *source, const char *target, unsigned long flags, const char *data)
{
    if (mkdir(target, 0755) != 0 && errno != EEXIST) {
        return -1;
    }
    return mount(source, target, type, flags, data);
}

/* Runs body in a child of its own: 0 when it exits 0, its exit code as errno otherwise. */
static int in_child(int (*body)(void))
{
    pid_t pid = fork();
    if (pid < 0) {
        return -1;
    }
    if (pid == 0) {
        _exit(body() == 0 ? 0 : (errno != 0 ? errno : 255));
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        return -1;
    }
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int check_mounts(void)
{
    static const struct {
        const char *type, *target, *data;
    } mounts[] = {
        {"proc", "/proc", NULL},
        {"sysfs", "/sys", NULL},
        {"devtmpfs", "/dev", NULL},
        {"tmpfs", "/run", "size=16m"},
    };
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        if (mount_on(mounts[i].type, mounts[i].type, mounts[i].target, 0, mounts[i].data) != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_cgroup2(void)
{
    char controllers[256];
    if (mount_on("cgroup2", "cgroup2", "/sys/fs/cgroup", 0, NULL) != 0 ||
        read_text("/sys/fs/cgroup/cgroup.controllers", controllers, sizeof controllers) != 0) {
        return -1;
    }
    printf("controllers: %s", controllers);
    return write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +cpu +io +memory +pids");
}

static int check_limit_files(void)
{
    if (mkdir("/sys/fs/cgroup/task", 0755) != 0) {
        return -1;
    }
    char limit[32];
    snprintf(limit, sizeof limit, "%dM", OOM_LIMIT_MIB);
    if (write_text("/sys/fs/cgroup/task/memory.max", limit) != 0 ||
        write_text("/sys/fs/cgroup/task/pids.max", "2") != 0 ||
        write_text("/sys/fs/cgroup/task/cpu.max", "50000 100000") != 0 ||
        write_text("/sys/fs/cgroup/task/cpu.weight", "50") != 0 ||
        write_text("/sys/fs/cgroup/task/cpuset.cpus", "0") != 0 ||
        write_text("/sys/fs/cgroup/task/io.max", "254:0 rbps=1000000000") != 0) {
        return -1;
    }
    static const char *const files[] = {"memory.peak", "cgroup.kill", "cgroup.freeze", "io.stat"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/fs/cgroup/task/%s", files[i]);
        if (access(path, F_OK) != 0) {
            return -1;
        }
    }
    return 0;
}

static int join_and_overfork(void)
{
    if (write_text("/sys/fs/cgroup/task/cgroup.procs", "0") != 0) {
        return -1;
    }
    pid_t first = fork();
    if (first == 0) {
        _exit(fork() < 0 && errno == EAGAIN ? 0 : 1);
    }
    int status = 0;
    waitpid(first, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : wrong();
}

static int check_pids_limit(void)
{
    return in_child(join_and_overfork);
}

static int join_and_overeat(void)
{
    if (write_text("/sys/fs/cgroup/task/cgroup.procs", "0") != 0) {
        return -1;
    }
    size_t size = (size_t)OOM_TOUCH_MIB << 20;
    char *eaten = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (eaten != MAP_FAILED) {
        memset(eaten, 1, size);
    }
    return 0;
}

static int check_memory_limit(void)
{
    char events[256];
    if (in_child(join_and_overeat) == 0) {
        return wrong();
    }
    if (read_text("/sys/fs/cgroup/task/memory.events", events, sizeof events) != 0) {
        return -1;
    }
    return strstr(events, "oom_kill 1\n") != NULL ? 0 : wrong();
}

static int check_erofs(void)
{
    char text[64];
    if (mount_on("erofs", "/dev/vda", "/image", MS_RDONLY, NULL) != 0 ||
        read_text("/image/long", text, sizeof text) != 0) {
        return -1;
    }
    return strncmp(text, "to be compressed\n", 17) == 0 ? 0 : wrong();
}

static int check_ext4_quota(void)
{
    return mount_on("ext4", "/dev/vdb", "/scratch", MS_NODEV | MS_NOSUID, "prjquota");
}

static int check_ext4_grow(void)
{
    uint64_t blocks = GROWN_BLOCKS;
    struct statvfs before, after;
    int fd = open("/scratch", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || statvfs("/scratch", &before) != 0 ||
        ioctl(fd, EXT4_IOC_RESIZE_FS, &blocks) != 0 || statvfs("/scratch", &after) != 0) {
        return -1;
    }
    close(fd);
    printf("ext4: %lu blocks, grown to %lu\n", (unsigned long)before.f_blocks,
        (unsigned long)after.f_blocks);
    return after.f_blocks > before.f_blocks * 4 ? 0 : wrong();
}

/* Copies a file of the image up by writing to it, with the upper layer under base. */
static int overlay_on(const char *base, const char *target)
{
    char upper[64], work[64], options[256], path[64], text[64];
    snprintf(upper, sizeof upper, "%s/upper", base);
    snprintf(work, sizeof work, "%s/work", base);
    snprintf(options, sizeof options, "lowerdir=/image,upperdir=%s,workdir=%s", upper, work);
    snprintf(path, sizeof path, "%s/hello", target);
    if (mkdir(upper, 0755) != 0 || mkdir(work, 0755) != 0 ||
        mount_on("overlay", "overlay", target, 0, options) != 0 || write_text(path, "HELLO") != 0 ||
        read_text(path, text, sizeof text) != 0) {
        return -1;
    }
    return strcmp(text, "HELLO from the image\n") == 0 ? 0 : wrong();
}

static int check_overlay_on_ext4(void)
{
    return overlay_on("/scratch", "/merged");
}

static int check_overlay_on_tmpfs(void)
{
    return overlay_on("/run", "/merged2");
}

static int filtered(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTNAM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        return -1;
    }
    return syscall(SYS_getppid) == -1 && errno == ENOTNAM ? 0 : wrong();
}

static int check_seccomp(void)
{
    return in_child(filtered);
}

static int unshare_all(void)
{
    if (setresgid(TASK_UID, TASK_UID, TASK_UID) != 0 ||
        setresuid(TASK_UID, TASK_UID, TASK_UID) != 0) {
        return -1;
    }
    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                   CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_NEWTIME);
}

static int check_namespaces(void)
{
    return in_child(unshare_all);
}

/* In this order: later checks stand on the mounts of earlier ones. */
static const struct check checks[] = {
    {"proc, sysfs, devtmpfs, tmpfs", check_mounts},
    {"cgroup2 controllers", check_cgroup2},
    {"limit files", check_limit_files},
    {"pids limit", check_pids_limit},
    {"memory limit", check_memory_limit},
    {"erofs, lz4", check_erofs},
    {"ext4 with project quota", check_ext4_quota},
    {"ext4 online growth", check_ext4_grow},
    {"overlay on ext4", check_overlay_on_ext4},
    {"overlay on tmpfs", check_overlay_on_tmpfs},
    {"seccomp filter", check_seccomp},
    {"all namespaces, unprivileged", check_namespaces},
};

static void run_checks(const struct check *list, size_t count, size_t *number)
{
    for (size_t i = 0; i < count; i++) {
        ++*number;
        if (list[i].run() == 0) {
            printf("ok %zu - %s\n", *number, list[i].name);
        } else {
            printf("not ok %zu - %s: %s\n", *number, list[i].name,
                errno != 0 ? strerror(errno) : "wrong answer");
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "script") == 0) {
        return 42;
    }
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    printf("init after %ld ms of guest time\n", now.tv_sec * 1000 + now.tv_nsec / 1000000);

    size_t count = sizeof checks / sizeof checks[0], number = 0;
    printf("1..%zu\n", count + program_check_count);
    run_checks(checks, count, &number);
    run_checks(program_checks, program_check_count, &number);
    printf("end of smoke\n");
    fflush(stdout);
    sync();
    reboot(RB_AUTOBOOT);
    return 1;
}
