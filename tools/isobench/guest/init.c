/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c: PID 1 of the guest of backends/qemu_microvm.py: mounts what a program expects, runs the
 * probe with the words of /args as the user named there, its output on two disks, and ends the
 * machine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_BYTES = 16384, WORDS_MAX = 512 };

/* The first letter of a disk's serial number: o for standard output, e for standard error. */
static char disk_serial(const char *disk)
{
    char path[64], letter = 0;
    snprintf(path, sizeof path, "/sys/block/%s/serial", disk);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (read(fd, &letter, 1) != 1)
        letter = 0;
    close(fd);
    return letter;
}

static void run_probe(void)
{
    static char args[ARGS_BYTES];
    static char *words[WORDS_MAX + 1] = {"/isoprobe"};
    const int fd = open("/args", O_RDONLY | O_CLOEXEC);
    const ssize_t size = read(fd, args, sizeof args - 1);
    int count = 0;
    /* The first word, the user, is replaced by the program's name. */
    for (ssize_t i = 0; i < size && count < WORDS_MAX; i++)
        if (i == 0 || args[i - 1] == 0)
            words[count++] = args + i;
    if (count == 0)
        return;
    const uid_t user = (uid_t)atoi(words[0]);
    words[0] = "/isoprobe";
    const char first = disk_serial("vda"); /* their order is not that of the command line */
    dup2(open(first == 'o' ? "/dev/vda" : "/dev/vdb", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    dup2(open(first == 'o' ? "/dev/vdb" : "/dev/vda", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    if (chdir("/work") != 0 || setgid(user) != 0 || setuid(user) != 0)
        return;
    execv(words[0], words);
}

int main(void)
{
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    /* Without a console the kernel opens nothing for init. */
    while (open("/dev/null", O_RDWR) < STDERR_FILENO)
        ;
    mkdir("/dev/shm", 0755);
    mount("shm", "/dev/shm", "tmpfs", 0, "mode=1777");
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sys", "/sys", "sysfs", 0, NULL);
    mount("work", "/work", "tmpfs", 0, "mode=1777,size=64m");
    mount("tmp", "/tmp", "tmpfs", 0, "mode=1777");
    const pid_t child = fork();
    if (child == 0) {
        run_probe();
        _exit(1);
    }
    while (waitpid(-1, NULL, 0) != child)
        ;
    sync();
    reboot(RB_AUTOBOOT); /* reboot=t: a triple fault, which ends QEMU */
    for (;;)
        pause();
}
