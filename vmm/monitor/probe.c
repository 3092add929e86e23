/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c: see probe.h. Runs in the monitor, instead of a machine. The guest is ours: it counts in
 * a register, in 64-bit kernel mode, which is what software implementations of KVM interpret.
 */
#include "monitor/probe.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "monitor/arch/arch.h"
#include "monitor/kvm.h"
#include "monitor/vcpu.h"

enum { PROBE_RUN_MS = 20, PROBE_TURNS_MAX = 100 };

struct probe {
    struct guest_mem mem;
    int vm_fd;
    struct vcpu vcpu;
    struct ipc_ended ended; /* cause 0: the guest ran until it was stopped */
};

static void probe_mmio_read(void *context, gpa_t address, uint8_t *data, uint32_t length)
{
    (void)context;
    (void)address;
    for (uint32_t i = 0; i < length; i++)
        data[i] = 0xff;
}

static void probe_mmio_write(void *context, gpa_t address, const uint8_t *data, uint32_t length)
{
    (void)context;
    (void)address;
    (void)data;
    (void)length;
}

static void probe_ended(void *context, struct vcpu *vcpu, const struct ipc_ended *ended)
{
    struct probe *probe = context;

    (void)vcpu;
    probe->ended = *ended; /* read after vcpu_stop(), which joins the thread */
}

static int probe_build(struct probe *probe, int kvm_fd, struct err *err)
{
    const struct ipc_machine setup = {.cpu_count = 1, .hugepages = HUGEPAGES_NO};
    struct arch_entry entry;

    if (kvm_check(kvm_fd, err) < 0)
        return -1;
    probe->vm_fd = kvm_create_vm(kvm_fd, err);
    if (probe->vm_fd < 0 || guest_mem_map(&probe->mem, 4 * MIB, HUGEPAGES_NO, err) < 0 ||
        kvm_set_memory(probe->vm_fd, &probe->mem, err) < 0 || arch_vm_init(probe->vm_fd, err) < 0 ||
        arch_probe_load(&probe->mem, &entry, err) < 0 ||
        kvm_vcpu_create(kvm_fd, probe->vm_fd, 0, &probe->vcpu.kvm, err) < 0)
        return -1;
    return arch_vcpu_init(kvm_fd, probe->vcpu.kvm.fd, 0, &setup, &entry, err);
}

/* Until the guest has had PROBE_RUN_MS of a processor: a busy host grants it late. */
static void probe_wait(const struct probe *probe)
{
    const struct timespec turn = {.tv_nsec = PROBE_RUN_MS * (long)NS_PER_MS};
    clockid_t clock;
    struct timespec used = {.tv_sec = 0};

    if (pthread_getcpuclockid(probe->vcpu.thread, &clock) != 0)
        return;
    for (int i = 0; i < PROBE_TURNS_MAX; i++) {
        nanosleep(&turn, NULL);
        if (clock_gettime(clock, &used) < 0 || used.tv_sec > 0 || used.tv_nsec >= turn.tv_nsec)
            return; /* enough, or the thread is gone */
    }
}

/* How far the guest counts in a millisecond of processor time. */
static int probe_count(struct probe *probe, struct ipc_probed *probed, struct err *err)
{
    struct vcpu_gate no_gate = {.jail = NULL};
    const struct vcpu_owner owner = {
        .context = probe,
        .gate = &no_gate,
        .mmio_read = probe_mmio_read,
        .mmio_write = probe_mmio_write,
        .ended = probe_ended,
    };
    uint64_t count;

    if (vcpu_start(&probe->vcpu, &owner, err) < 0)
        return -1;
    probe_wait(probe);
    vcpu_stop(&probe->vcpu);
    if (probe->ended.cause != 0)
        return err_set(err, "a guest of two instructions did not run (end %u, detail %llu)",
            probe->ended.cause, (unsigned long long)probe->ended.detail[0]);
    if (arch_probe_count(probe->vcpu.kvm.fd, &count, err) < 0)
        return -1;
    probed->loops_per_ms = count * NS_PER_MS / (probe->vcpu.cpu_ns + 1);
    return 0;
}

void probe_run(int kvm_fd, struct ipc_probed *probed)
{
    struct probe probe = {.mem = GUEST_MEM_INIT, .vm_fd = -1, .vcpu.kvm.fd = -1};
    uint64_t start_ns = clock_mono_ns();
    struct err err = ERR_INIT;

    *probed = (struct ipc_probed){.works = false};
    if (vcpu_signal_init(&err) == 0 && probe_build(&probe, kvm_fd, &err) == 0) {
        probed->create_ns = clock_mono_ns() - start_ns;
        probed->works = probe_count(&probe, probed, &err) == 0;
    }
    if (!probed->works)
        text_copy(probed->text, sizeof(probed->text), err.text);
    fd_close(&probe.vcpu.kvm.fd);
    fd_close(&probe.vm_fd);
}
