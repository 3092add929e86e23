/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powers.c: all that the monitor can still do when the guest runs its first instruction. Opening,
 * connecting, executing, mapping and starting anything are not among it.
 */
#include "monitor/powers.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "monitor/arch/arch.h"

static const struct powers_call loop_calls[] = {
    POWERS_CALL(epoll_wait, "whatever comes first"),
    POWERS_CALL(epoll_ctl, "a pipe that is full, a stream that has ended"),
    POWERS_CALL(read, "the gate; the doorbell; the task's stdin"),
    POWERS_CALL(write, "the task's output to the scribe; the doorbell"),
    POWERS_CALL(preadv, "a disk"),
    POWERS_CALL(pwritev, "a disk"),
    POWERS_CALL_IF(fallocate, "a disk: discard and write zeroes",
        {POWERS_IS, 1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE}),
    POWERS_CALL(sendmsg, "records to the supervisor"),
    POWERS_CALL(recvmsg, "cancel and halt from the supervisor"),
    POWERS_CALL(futex, "registers of devices are shared with the vCPU threads"),
    POWERS_CALL_IF(
        tgkill, "kick a vCPU out of KVM_RUN", {POWERS_SELF, 0, 0}, {POWERS_IS, 2, SIGUSR1}),
    POWERS_CALL_IF(ioctl, "interrupts", {POWERS_IS, 1, KVM_IRQ_LINE}),
    POWERS_CALL(getpid, "pthread_kill()"),
    POWERS_CALL(rt_sigprocmask, "pthread_kill()"),
    POWERS_CALL(
        clock_gettime, "the time where the vDSO cannot tell it (clocksource hpet, acpi_pm)"),
    POWERS_CALL(restart_syscall, "a timed wait for a vCPU's end that a suspended host cut"),
    POWERS_CALL(exit_group, "the end"),
    POWERS_END,
};

static const struct powers_call vcpu_calls[] = {
    POWERS_CALL_IF(ioctl, "run the guest", {POWERS_IS, 1, KVM_RUN}),
    POWERS_CALL(futex, "the gate; registers of devices are shared with the loop"),
    POWERS_CALL(write, "the console; the doorbell, for devices and when the vCPU ends"),
    POWERS_CALL(rt_sigreturn, "after the kick"),
    POWERS_CALL(clock_gettime, "CPU time of the thread, at its end"),
    POWERS_CALL(rt_sigprocmask, "end of a thread"),
    POWERS_CALL_IF(madvise, "end of a thread: its stack", {POWERS_IS, 2, MADV_DONTNEED}),
    POWERS_CALL(exit, "end of a thread"),
    POWERS_END,
};

static const struct powers_thread loop_thread = {
    .name = "loop", .calls = loop_calls, .arch_calls = arch_register_calls};
static const struct powers_thread vcpu_thread = {.name = "vcpu", .calls = vcpu_calls};

static const struct powers_limit limits[] = {
    {RLIMIT_CORE, 0, "a core would hold the guest's memory"},
    {RLIMIT_MEMLOCK, 0, "nothing is locked"},
    {RLIMIT_AS, POWERS_ORDERED, "guest RAM and a little more"},
    {RLIMIT_FSIZE, POWERS_ORDERED, "the largest disk"},
    {RLIMIT_NOFILE, POWERS_ORDERED, "those that it was given, eventfds, KVM's"},
    {RLIMIT_CPU, POWERS_ORDERED, "[limits] cpu, and boot and end of the guest"},
    {RLIMIT_NPROC, POWERS_ORDERED, "vCPUs, the loop, and threads of KVM"},
};

const struct powers monitor_powers = {
    .name = "vmrun-monitor",
    .threads = {[MONITOR_THREAD_LOOP] = &loop_thread, [MONITOR_THREAD_VCPU] = &vcpu_thread},
    .limits = limits,
    .limit_count = sizeof(limits) / sizeof(limits[0]),
};
