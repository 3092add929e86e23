/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: see host.h. */
#include "supervisor/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/num.h"
#include "supervisor/arch/arch.h"
#include "supervisor/child_jail.h"
#include "supervisor/jail_limits.h"
#include "supervisor/spawn.h"

enum { PROBE_DEADLINE_MS = 10000 };

int host_open_kvm(struct err *err)
{
    AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    int version;

    if (fd < 0 && errno == ENOENT)
        return err_set(err,
            "/dev/kvm does not exist: enable virtualization in the firmware and load "
            "kvm_intel or kvm_amd (in a cloud VM: nested virtualization), or run it "
            "through tools/lab");
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return err_set(err,
            "/dev/kvm: no permission: join its group (sudo usermod -aG kvm $USER, then "
            "log in again)");
    if (fd < 0)
        return err_sys(err, "cannot open /dev/kvm (is kvm_intel or kvm_amd loaded?)");
    version = ioctl(fd, KVM_GET_API_VERSION, 0);
    if (version < 0)
        return err_sys(err, "/dev/kvm does not answer KVM_GET_API_VERSION");
    if (version != KVM_API_VERSION)
        return err_set(err,
            "/dev/kvm has API version %d, not %d: it is not Linux KVM; run vmrun on "
            "hardware KVM or through tools/lab",
            version, KVM_API_VERSION);
    return fd_take(&fd);
}

static int probe_await(struct child *monitor, struct ipc_probed *probed, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + PROBE_DEADLINE_MS * NS_PER_MS;
    struct pollfd wait = {.fd = monitor->ipc, .events = POLLIN};
    struct ipc_record record;
    char end[128];

    while (poll(&wait, 1, 100) <= 0) {
        if (clock_mono_ns() > deadline)
            return err_set(
                err, "KVM did not finish a small loop within %d s", PROBE_DEADLINE_MS / 1000);
    }
    if (ipc_receive(monitor->ipc, &record, err) > 0)
        return ipc_get_probed(&record, probed, err);
    child_kill(monitor);
    child_reap(monitor);
    child_end_text(monitor, end, sizeof(end));
    return err_set(err, "the probe of KVM ended early: %s", end);
}

/*
 * The guest is ours, two instructions long: the jail is the one without namespaces, so that the
 * probe tells of KVM alone.
 */
int host_probe(int programs_fd, int kvm_fd, struct ipc_probed *probed, struct err *err)
{
    struct child monitor = CHILD_INIT;
    struct child_fd fds[MONITOR_FD_DISK - MONITOR_FD_KVM];
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct config config = {.memory_bytes = 4 * MIB, .vcpus = 1};
    struct jail_ground ground = JAIL_GROUND_INIT;
    struct jail_order order = {.kind = JAIL_WEAK};
    size_t count = 0;
    int failed;

    if (null < 0)
        return err_sys(err, "cannot open /dev/null");
    ground.kind = JAIL_WEAK;
    ground.uid = geteuid();
    ground.gid = getegid();
    fds[count++] = (struct child_fd){kvm_fd, MONITOR_FD_KVM};
    for (int number = MONITOR_FD_KERNEL; number < MONITOR_FD_DISK; number++)
        fds[count++] = (struct child_fd){null, number};
    jail_limits_monitor(&order, &config, 0, 0);
    order.limit_count--; /* the number of processes: there is no namespace for it */
    ground.parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (ground.parent_fd < 0)
        return err_sys(err, "cannot make a pidfd");
    failed = child_spawn(&monitor, &ground, programs_fd, "vmrun-monitor", fds, count, err);
    if (failed == 0)
        failed = child_order(&monitor, &order, err);
    if (failed == 0)
        failed = child_confined(&monitor, &ground, err);
    if (failed == 0)
        failed = ipc_send_plain(monitor.ipc, IPC_PROBE, err);
    if (failed == 0)
        failed = probe_await(&monitor, probed, err);
    child_fini(&monitor);
    jail_ground_free(&ground);
    return failed;
}

const char *host_probe_problem(const struct ipc_probed *probed, char *text, size_t size)
{
    char said[IPC_TEXT_BYTES];

    text_escape(said, sizeof(said), probed->text, strlen(probed->text));
    if (!probed->works)
        snprintf(text, size, "does not run guest kernel code (%s)", said);
    else if (probed->loops_per_ms < HOST_NATIVE_LOOPS_PER_MS)
        snprintf(text, size,
            "interprets guest kernel code (%llu loops a millisecond; native is over %d)",
            (unsigned long long)probed->loops_per_ms, HOST_NATIVE_LOOPS_PER_MS);
    else if (probed->text[0])
        snprintf(text, size, "lacks what a guest needs: %s", said);
    else
        return NULL;
    return text;
}

int host_check_native(int programs_fd, int kvm_fd, struct err *err)
{
    struct ipc_probed probed;
    char text[IPC_TEXT_BYTES + 128];
    const char *problem;

    if (host_cpu_has_virtualization())
        return 0;
    if (host_probe(programs_fd, kvm_fd, &probed, err) < 0)
        return -1;
    problem = host_probe_problem(&probed, text, sizeof(text));
    if (problem)
        return err_set(
            err, "this host's KVM %s; run it on hardware KVM or through tools/lab", problem);
    return 0;
}
