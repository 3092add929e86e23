/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_init.c: PID 1 of QEMU's guest where it does what a task of vmrun does (sandboxes.py): mounts
 * the image and a scratch disk as the agent does, copies /in to /task, runs the program in /args
 * with its output in /task/stdout and its status in /task/status, unmounts and ends the machine. No
 * cage, no limits, nothing told to anyone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

enum { ARGS_BYTES = 4096, WORDS_MAX = 64, COPY_BYTES = 1 << 24 };

/* The order of the disks is not that of QEMU's command line. */
static int mount_disks(void)
{
    const char *scratch = "/dev/vdb";

    if (mount("/dev/vda", "/image", "erofs", MS_RDONLY | MS_NODEV, NULL) != 0) {
        scratch = "/dev/vda";
        if (mount("/dev/vdb", "/image", "erofs", MS_RDONLY | MS_NODEV, NULL) != 0)
            return -1;
    }
    return mount(
        scratch, "/image/task", "ext4", MS_NOATIME | MS_NOSUID | MS_NODEV, "noinit_itable");
}

static void copy_inputs(void)
{
    DIR *folder = opendir("/in");
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char from[512], to[512];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(from, sizeof(from), "/in/%s", entry->d_name);
        snprintf(to, sizeof(to), "/image/task/%s", entry->d_name);
        int in = open(from, O_RDONLY | O_CLOEXEC);
        int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        while (sendfile(out, in, NULL, COPY_BYTES) > 0)
            continue;
        close(in);
        close(out);
    }
}

static void run_program(void)
{
    static char args[ARGS_BYTES];
    char *words[WORDS_MAX + 1] = {0};
    char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/task", "MPLCONFIGDIR=/task", NULL};
    ssize_t size = read(open("/args", O_RDONLY | O_CLOEXEC), args, sizeof(args) - 1);
    int count = 0;

    for (ssize_t i = 0; i < size && count < WORDS_MAX; i++) {
        if (i == 0 || args[i - 1] == 0)
            words[count++] = args + i;
    }
    if (count == 0 || chroot("/image") != 0 || chdir("/task") != 0)
        return;
    dup2(open("stdout", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    execvpe(words[0], words, environment);
}

static void run_and_tell(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        run_program();
        _exit(127);
    }
    while (waitpid(-1, &status, 0) != child)
        continue;
    int told = open("/image/task/status", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    dprintf(told, "%d\n", status);
    close(told);
}

int main(void)
{
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    while (open("/dev/null", O_RDWR) < STDERR_FILENO)
        continue;
    if (mount_disks() == 0) {
        mount("proc", "/image/proc", "proc", 0, NULL);
        mount("/dev", "/image/dev", NULL, MS_BIND, NULL);
        mount("tmp", "/image/tmp", "tmpfs", 0, "mode=1777");
        copy_inputs();
        run_and_tell();
        umount("/image/task");
    }
    reboot(RB_AUTOBOOT); /* reboot=t: a triple fault, which ends QEMU */
    for (;;)
        pause();
}
