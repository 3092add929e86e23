/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcpu.c: see vcpu.h. Runs in the monitor on vCPU threads. What is in kvm_run after an exit was
 * written by KVM; the addresses and data in it are the guest's.
 */
#include "monitor/vcpu.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "monitor/arch/arch.h"
#include "monitor/powers.h"

enum {
    KICK_RETRIES = 100,
    KICK_WAIT_NS = 10 * 1000 * 1000,
    VCPU_STACK_BYTES = 256 * 1024,
};

#define KICK_SIGNAL SIGUSR1

/* The signal only has to interrupt KVM_RUN. */
static void kick_handler(int signal)
{
    (void)signal;
}

int vcpu_signal_init(struct err *err)
{
    struct sigaction action = {.sa_handler = kick_handler};

    if (sigaction(KICK_SIGNAL, &action, NULL) < 0)
        return err_sys(err, "cannot install the handler that interrupts vCPUs");
    return 0;
}

static void vcpu_end(struct vcpu *vcpu, uint32_t cause, uint64_t detail, const char *text)
{
    struct ipc_ended ended = {.cause = cause, .detail = {detail}};

    text_copy(ended.text, sizeof(ended.text), text);
    vcpu->owner->ended(vcpu->owner->context, vcpu, &ended);
}

/* KVM_EXIT_INTERNAL_ERROR: the suberror and what KVM adds to it. */
static void vcpu_end_internal(struct vcpu *vcpu)
{
    const struct kvm_run *run = vcpu->kvm.run;
    struct ipc_ended ended = {.cause = IPC_END_INTERNAL, .detail = {run->internal.suberror}};

    for (uint32_t i = 0; i < run->internal.ndata && i < 3; i++)
        ended.detail[1 + i] = run->internal.data[i];
    vcpu->owner->ended(vcpu->owner->context, vcpu, &ended);
}

static void vcpu_mmio(struct vcpu *vcpu)
{
    struct kvm_run *run = vcpu->kvm.run;
    const struct vcpu_owner *owner = vcpu->owner;
    uint32_t length = run->mmio.len;

    if (length > sizeof(run->mmio.data))
        length = sizeof(run->mmio.data);
    if (run->mmio.is_write)
        owner->mmio_write(owner->context, gpa(run->mmio.phys_addr), run->mmio.data, length);
    else
        owner->mmio_read(owner->context, gpa(run->mmio.phys_addr), run->mmio.data, length);
}

/* Returns false when the vCPU cannot go on. */
static bool vcpu_exit(struct vcpu *vcpu)
{
    struct kvm_run *run = vcpu->kvm.run;
    char text[128];

    switch (run->exit_reason) {
    case KVM_EXIT_MMIO:
        vcpu_mmio(vcpu);
        return true;
    case KVM_EXIT_INTR:
    case KVM_EXIT_IRQ_WINDOW_OPEN:
        return true;
    case KVM_EXIT_SHUTDOWN:
        vcpu_end(vcpu, IPC_END_SHUTDOWN, 0, "triple fault");
        return false;
    case KVM_EXIT_FAIL_ENTRY:
        vcpu_end(vcpu, IPC_END_FAIL_ENTRY, run->fail_entry.hardware_entry_failure_reason,
            "the CPU refused to enter the guest");
        return false;
    case KVM_EXIT_INTERNAL_ERROR:
        vcpu_end_internal(vcpu);
        return false;
    case KVM_EXIT_SYSTEM_EVENT:
        vcpu_end(vcpu, IPC_END_SHUTDOWN, run->system_event.type,
            "the guest asked for shutdown or reset");
        return false;
    default:
        if (arch_vcpu_exit(run, vcpu->owner->console))
            return true;
        snprintf(text, sizeof(text), "KVM exit reason %u", run->exit_reason);
        vcpu_end(vcpu, IPC_END_UNKNOWN_EXIT, run->exit_reason, text);
        return false;
    }
}

static void vcpu_run(struct vcpu *vcpu)
{
    /* Acquire: pairs with the release in vcpu_stop(); the flag is all that is handed over. */
    while (!atomic_load_explicit(&vcpu->stop, memory_order_acquire)) {
        int result = ioctl(vcpu->kvm.fd, KVM_RUN, 0);

        vcpu->exits++;
        if (result < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (result < 0) {
            char text[128];

            snprintf(
                text, sizeof(text), "KVM_RUN of vCPU %u failed: %s", vcpu->index, strerror(errno));
            vcpu_end(vcpu, IPC_END_HOST, (uint64_t)errno, text);
            return;
        }
        if (!vcpu_exit(vcpu))
            return;
    }
}

/* Semaphores, not a condition: its lock would cost each thread that is woken a call more. */
static void gate_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0) /* by a signal; there is no other error */
        continue;
}

/* No call is made between the filter and the gate but those of the powers. */
static bool vcpu_pass_gate(struct vcpu_gate *gate)
{
    if (!gate->jail)
        return true;
    if (jail_seal_thread(gate->jail, MONITOR_THREAD_VCPU) < 0)
        atomic_store(&gate->error, errno);
    sem_post(&gate->sealed);
    gate_wait(&gate->left);
    return atomic_load(&gate->open);
}

void vcpu_gate_init(struct vcpu_gate *gate, const struct jail *jail, uint32_t count)
{
    gate->jail = jail;
    gate->count = count;
    (void)sem_init(&gate->sealed, 0, 0); /* cannot fail with 0 */
    (void)sem_init(&gate->left, 0, 0);
}

int vcpu_gate_await(struct vcpu_gate *gate, struct err *err)
{
    int error;

    for (uint32_t i = 0; i < gate->count; i++)
        gate_wait(&gate->sealed);
    error = atomic_load(&gate->error);
    if (error == 0)
        return 0;
    errno = error;
    return err_sys(err, "cannot load the seccomp filter of a vCPU");
}

static void gate_let_go(struct vcpu_gate *gate)
{
    for (uint32_t i = 0; i < gate->count; i++)
        sem_post(&gate->left);
}

void vcpu_gate_open(struct vcpu_gate *gate)
{
    atomic_store(&gate->open, true);
    gate_let_go(gate);
}

void vcpu_gate_refuse(struct vcpu_gate *gate)
{
    if (!atomic_load(&gate->open))
        gate_let_go(gate);
}

static void *vcpu_thread(void *argument)
{
    struct vcpu *vcpu = argument;
    struct timespec used;

    if (vcpu_pass_gate(vcpu->owner->gate))
        vcpu_run(vcpu);
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
        vcpu->cpu_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
    /* Release: pairs with the acquire in vcpu_stop(), for the counts. */
    atomic_store_explicit(&vcpu->ended, true, memory_order_release);
    return NULL;
}

int vcpu_start(struct vcpu *vcpu, const struct vcpu_owner *owner, struct err *err)
{
    pthread_attr_t attributes;
    int error;

    vcpu->owner = owner;
    atomic_store(&vcpu->stop, false);
    /* Small, so that a join only ever keeps it: there is no munmap() in the jail. */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, VCPU_STACK_BYTES);
    error = pthread_create(&vcpu->thread, &attributes, vcpu_thread, vcpu);
    pthread_attr_destroy(&attributes);
    if (error) {
        errno = error;
        return err_sys(err, "cannot start the thread of vCPU %u", vcpu->index);
    }
    vcpu->started = true;
    return 0;
}

void vcpu_stop(struct vcpu *vcpu)
{
    if (!vcpu->started)
        return;
    /*
     * Release: whoever sees immediate_exit sees the flag. A thread that is about to enter KVM_RUN
     * leaves at once because of immediate_exit; one that is inside leaves because of the signal.
     */
    atomic_store_explicit(&vcpu->stop, true, memory_order_release);
    __atomic_store_n(&vcpu->kvm.run->immediate_exit, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < KICK_RETRIES; i++) {
        uint64_t until = clock_mono_ns() + KICK_WAIT_NS;
        struct timespec deadline = {
            .tv_sec = (time_t)(until / NS_PER_S), .tv_nsec = (long)(until % NS_PER_S)};

        (void)pthread_kill(vcpu->thread, KICK_SIGNAL);
        if (pthread_clockjoin_np(vcpu->thread, NULL, CLOCK_MONOTONIC, &deadline) == 0) {
            (void)atomic_load_explicit(&vcpu->ended, memory_order_acquire);
            vcpu->started = false;
            return;
        }
    }
    /* KVM itself hangs. The process is about to exit, which takes the VM with it. */
}
