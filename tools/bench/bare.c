/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare.c: vmrun-monitor alone: one machine with a kernel and an initramfs, no disks, no supervisor
 * (tools/bench/bare.py). Its jail is the one of a host without namespaces, as those are made by the
 * supervisor. Prints one line of JSON: when what happened, and how often the guest came out.
 *
 *     bare DIRECTORY KERNEL INITRAMFS MEMORY_MIB COMMAND_LINE
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "ipc/ipc.h"
#include "supervisor/child_jail.h"

/* From the birth of the monitor to its end. */
struct moments {
    uint64_t born_ns, executed_ns, confined_ns, running_ns, ended_ns, gone_ns;
};

static const struct jail_order bare_order = {.kind = JAIL_WEAK,
    .limit_count = 6,
    .limits = {{RLIMIT_CORE, 0}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_AS, 2 * GIB}, {RLIMIT_FSIZE, 0},
        {RLIMIT_NOFILE, 64}, {RLIMIT_CPU, 600}}};

static void die(const struct err *err)
{
    fprintf(stderr, "bare: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static int open_file(const char *path, int flags)
{
    struct err err = ERR_INIT;
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0) {
        err_sys(&err, "%s", path);
        die(&err);
    }
    return fd;
}

/* The monitor sends a job once the agent has said HELLO: here nobody ever does. */
static int make_job(void)
{
    int fd = memfd_create("job", MFD_CLOEXEC);

    must(fd >= 0 && fd_write_all(fd, "", 1) == 0);
    return fd;
}

static void await(int fd)
{
    struct pollfd channel = {.fd = fd, .events = POLLIN};

    while (poll(&channel, 1, -1) != 1)
        continue;
}

static int start(struct child *monitor, const struct jail_ground *ground, char **argv,
    struct moments *moments, struct err *err)
{
    int null = open_file("/dev/null", O_RDWR);
    const struct child_fd fds[] = {{open_file("/dev/kvm", O_RDWR), MONITOR_FD_KVM},
        {open_file(argv[2], O_RDONLY), MONITOR_FD_KERNEL},
        {open_file(argv[3], O_RDONLY), MONITOR_FD_INITRD}, {make_job(), MONITOR_FD_JOB},
        {null, MONITOR_FD_STDOUT}, {null, MONITOR_FD_STDERR}, {null, MONITOR_FD_CONSOLE},
        {null, MONITOR_FD_STDIN}};
    struct ipc_machine setup = {
        .cpu_count = 1, .memory_bytes = strtoull(argv[4], NULL, 10) * MIB, .job_bytes = 1};
    int programs = open_file(argv[1], O_RDONLY | O_DIRECTORY);

    if (fd_size(fds[2].fd, &setup.initrd_bytes, err) < 0)
        return -1;
    must(text_copy(setup.cmdline, sizeof(setup.cmdline), argv[5]));
    moments->born_ns = clock_mono_ns();
    if (child_spawn(
            monitor, ground, programs, "vmrun-monitor", fds, sizeof(fds) / sizeof(fds[0]), err) < 0)
        return -1;
    moments->executed_ns = clock_mono_ns();
    if (child_order(monitor, &bare_order, err) < 0 || child_confined(monitor, ground, err) < 0)
        return -1;
    moments->confined_ns = clock_mono_ns();
    return ipc_send_machine(monitor->ipc, &setup, err);
}

/* Records until the guest has ended. */
static int follow(
    struct child *monitor, struct moments *moments, struct ipc_ended *ended, struct err *err)
{
    struct ipc_record record;
    struct ipc_running running;

    for (;;) {
        await(monitor->ipc);
        if (ipc_receive(monitor->ipc, &record, err) != 1)
            return err_is_set(err) ? -1 : err_set(err, "the monitor ended without a word");
        if (record.kind == IPC_RUNNING && ipc_get_running(&record, &running, err) == 0)
            moments->running_ns = running.mono_ns;
        if (record.kind == IPC_ENDED)
            break;
    }
    moments->ended_ns = clock_mono_ns();
    return ipc_get_ended(&record, ended, err);
}

static void print(
    const struct moments *moments, const struct ipc_ended *ended, const struct child *monitor)
{
    printf("{\"exec_ns\": %llu, \"jail_ns\": %llu, \"build_ns\": %llu, \"guest_ns\": %llu, "
           "\"stop_ns\": %llu, \"total_ns\": %llu, \"cause\": %u, \"exits\": %llu, "
           "\"page_faults\": %ld, \"status\": %d}\n",
        (unsigned long long)(moments->executed_ns - moments->born_ns),
        (unsigned long long)(moments->confined_ns - moments->executed_ns),
        (unsigned long long)(moments->running_ns - moments->confined_ns),
        (unsigned long long)(moments->ended_ns - moments->running_ns),
        (unsigned long long)(moments->gone_ns - moments->ended_ns),
        (unsigned long long)(moments->gone_ns - moments->born_ns), ended->cause,
        (unsigned long long)ended->exits, monitor->usage.ru_minflt + monitor->usage.ru_majflt,
        monitor->wait_status);
}

int main(int argc, char **argv)
{
    struct jail_ground ground = JAIL_GROUND_INIT;
    struct child monitor = CHILD_INIT;
    struct moments moments = {0};
    struct ipc_ended ended = {0};
    struct err err = ERR_INIT;

    if (argc != 6) {
        fprintf(stderr, "usage: bare DIRECTORY KERNEL INITRAMFS MEMORY_MIB COMMAND_LINE\n");
        return 2;
    }
    ground.kind = JAIL_WEAK;
    ground.uid = geteuid();
    ground.gid = getegid();
    ground.parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (start(&monitor, &ground, argv, &moments, &err) < 0)
        die(&err);
    await(monitor.jail);
    if (child_sealed(&monitor, &ground, 2, &err) < 0 ||
        follow(&monitor, &moments, &ended, &err) < 0)
        die(&err);
    child_reap(&monitor);
    moments.gone_ns = clock_mono_ns();
    print(&moments, &ended, &monitor);
    return ended.cause == IPC_END_SHUTDOWN && monitor.wait_status == 0 ? 0 : EXIT_FAILURE;
}
