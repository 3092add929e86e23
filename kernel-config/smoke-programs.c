/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second half of the smoke test's PID 1: sockets, terminals and system calls that programs expect,
 * and interfaces that must be absent. Runs after smoke-init.c has mounted /dev, /sys and /scratch.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/membarrier.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smoke.h"

static int keep_fd(int fd)
{
    if (fd < 0) {
        return -1;
    }
    close(fd);
    return 0;
}

static int check_vsock(void)
{
    return keep_fd(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int check_unix(void)
{
    int pair[2];
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || write(pair[0], "x", 1) != 1 ||
        read(pair[1], &byte, 1) != 1) {
        return -1;
    }
    return byte == 'x' ? 0 : wrong();
}

static int check_loopback(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || client < 0 || ioctl(server, SIOCSIFFLAGS, &lo) != 0 ||
        bind(server, (struct sockaddr *)&at, size) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&at, &size) != 0 ||
        connect(client, (struct sockaddr *)&at, size) != 0) {
        return -1;
    }
    char byte = 0;
    int peer = accept(server, NULL, NULL);
    if (peer < 0 || write(client, "x", 1) != 1 || read(peer, &byte, 1) != 1) {
        return -1;
    }
    return byte == 'x' ? 0 : wrong();
}

static int check_only_lo(void)
{
    DIR *dir = opendir("/sys/class/net");
    if (dir == NULL) {
        return -1;
    }
    int others = 0, lo = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, "lo") == 0) {
            lo++;
        } else if (entry->d_name[0] != '.') {
            printf("interface: %s\n", entry->d_name);
            others++;
        }
    }
    closedir(dir);
    return lo == 1 && others == 0 ? 0 : wrong();
}

static int check_getrandom(void)
{
    char seed[32];
    return getrandom(seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed ? 0 : -1;
}

static int check_pty(void)
{
    if (mount_on("devpts", "devpts", "/dev/pts", 0, "ptmxmode=0666") != 0) {
        return -1;
    }
    int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || unlockpt(master) != 0) {
        return -1;
    }
    return keep_fd(open(ptsname(master), O_RDWR | O_NOCTTY));
}

static int check_fd_makers(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (keep_fd(memfd_create("smoke", MFD_CLOEXEC)) != 0 ||
        keep_fd(inotify_init1(IN_CLOEXEC)) != 0 || keep_fd(epoll_create1(EPOLL_CLOEXEC)) != 0 ||
        keep_fd(eventfd(0, EFD_CLOEXEC)) != 0) {
        return -1;
    }
    if (keep_fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) != 0) {
        return -1;
    }
    return keep_fd(signalfd(-1, &set, SFD_CLOEXEC));
}

static int check_ipc(void)
{
    if (shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) < 0 ||
        semget(IPC_PRIVATE, 1, IPC_CREAT | 0600) < 0) {
        return -1;
    }
    return keep_fd(mq_open("/smoke", O_CREAT | O_RDWR | O_CLOEXEC, 0600, NULL));
}

static int check_aio(void)
{
    aio_context_t context = 0;
    return (int)syscall(SYS_io_setup, 1, &context);
}

static int check_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 ? 0 : -1;
}

static int check_vm_readv(void)
{
    char from = 'x', to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == 'x' ? 0 : -1;
}

static int check_handle(void)
{
    struct file_handle *handle = calloc(1, sizeof *handle + MAX_HANDLE_SZ);
    int mount_id = 0;
    handle->handle_bytes = MAX_HANDLE_SZ;
    return name_to_handle_at(AT_FDCWD, "/scratch", handle, &mount_id, 0);
}

static int check_posix_timer(void)
{
    timer_t timer;
    return timer_create(CLOCK_MONOTONIC, NULL, &timer);
}

static int check_script(void)
{
    int fd = open("/scratch/script", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || write(fd, "#!/init script\n", 15) != 15) {
        return -1;
    }
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/scratch/script", "script", (char *)NULL);
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 42 ? 0 : wrong();
}

/* Only where the boot protocol carries a tree: `smoke` says so in the environment. */
static int check_device_tree(void)
{
    char text[32];
    if (getenv("smoke_tree") == NULL) {
        printf("skipped: no device tree with this boot protocol\n");
        return 0;
    }
    if (read_text("/sys/firmware/devicetree/base/compatible", text, sizeof text) != 0) {
        return -1;
    }
    return strcmp(text, "vmrun,smoke") == 0 ? 0 : wrong();
}

static int check_absent_calls(void)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {
        {"bpf", SYS_bpf},
        {"io_uring_setup", SYS_io_uring_setup},
        {"ioperm", SYS_ioperm},
        {"userfaultfd", SYS_userfaultfd},
        {"kexec", SYS_kexec_load},
        {"init_module", SYS_init_module},
        {"add_key", SYS_add_key},
        {"modify_ldt", SYS_modify_ldt},
        {"uselib", SYS_uselib},
        {"sysfs", SYS_sysfs},
    };
    int present = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (syscall(calls[i].number, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS) {
            printf("present: %s\n", calls[i].name);
            present++;
        }
    }
    return present == 0 ? 0 : wrong();
}

static int check_no_legacy_ptys(void)
{
    return access("/dev/ptyp0", F_OK) != 0 && access("/dev/mem", F_OK) != 0 ? 0 : wrong();
}

const struct check program_checks[] = {
    {"vsock", check_vsock},
    {"unix socket", check_unix},
    {"TCP on loopback", check_loopback},
    {"no interface but lo", check_only_lo},
    {"getrandom does not block", check_getrandom},
    {"pty", check_pty},
    {"memfd, inotify, epoll, eventfd, timerfd, signalfd", check_fd_makers},
    {"System V and POSIX IPC", check_ipc},
    {"aio", check_aio},
    {"membarrier", check_membarrier},
    {"process_vm_readv", check_vm_readv},
    {"file handles", check_handle},
    {"POSIX timer", check_posix_timer},
    {"script", check_script},
    {"device tree", check_device_tree},
    {"system calls that must be absent", check_absent_calls},
    {"no legacy ptys, no /dev/mem", check_no_legacy_ptys},
};
const size_t program_check_count = sizeof program_checks / sizeof program_checks[0];
