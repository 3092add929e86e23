/* SPDX-License-Identifier: Apache-2.0 */
/* kvm.c: see kvm.h. Runs in the monitor; nothing here is the guest's. */
#include "monitor/kvm.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "monitor/arch/arch.h"

static const struct arch_cap required_caps[] = {
    {KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY", false},
    {KVM_CAP_IOEVENTFD, "KVM_CAP_IOEVENTFD", false},
    {KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT", true},
    {0, NULL, false},
};

static int caps_check(int kvm_fd, const struct arch_cap *caps, bool only_silent, struct err *err)
{
    for (const struct arch_cap *cap = caps; cap->name; cap++) {
        int answer = cap->silent || !only_silent ? ioctl(kvm_fd, KVM_CHECK_EXTENSION, cap->cap) : 1;

        if (answer < 0)
            return err_sys(err, "cannot ask KVM for %s (KVM_CHECK_EXTENSION)", cap->name);
        if (answer == 0)
            return err_set(err, "this host's KVM lacks %s, which vmrun needs", cap->name);
    }
    return 0;
}

int kvm_check(int kvm_fd, struct err *err)
{
    int version = ioctl(kvm_fd, KVM_GET_API_VERSION, 0);

    if (version < 0)
        return err_sys(err, "/dev/kvm does not answer KVM_GET_API_VERSION");
    if (version != KVM_API_VERSION)
        return err_set(
            err, "/dev/kvm speaks API version %d, vmrun needs %d", version, KVM_API_VERSION);
    if (caps_check(kvm_fd, required_caps, false, err) < 0)
        return -1;
    return caps_check(kvm_fd, arch_required_caps, false, err);
}

int kvm_check_silent(int kvm_fd, struct err *err)
{
    if (caps_check(kvm_fd, required_caps, true, err) < 0)
        return -1;
    return caps_check(kvm_fd, arch_required_caps, true, err);
}

int kvm_create_vm(int kvm_fd, struct err *err)
{
    struct timespec wait = {.tv_nsec = 1000};
    int vm_fd;

    for (int attempt = 0; attempt < 10; attempt++) {
        vm_fd = ioctl(kvm_fd, KVM_CREATE_VM, 0);
        if (vm_fd >= 0)
            return vm_fd;
        if (errno != EINTR)
            break;
        nanosleep(&wait, NULL);
        wait.tv_nsec *= 2;
    }
    return err_sys(err, "cannot create a virtual machine (KVM_CREATE_VM)");
}

int kvm_set_memory(int vm_fd, const struct guest_mem *mem, struct err *err)
{
    for (uint32_t i = 0; i < mem->region_count; i++) {
        struct kvm_userspace_memory_region region = {
            .slot = i,
            .guest_phys_addr = mem->regions[i].gpa,
            .memory_size = mem->regions[i].size_bytes,
            .userspace_addr = (uint64_t)(uintptr_t)mem->regions[i].host,
        };

        if (ioctl(vm_fd, KVM_SET_USER_MEMORY_REGION, &region) < 0)
            return err_sys(err, "cannot give the VM its RAM (KVM_SET_USER_MEMORY_REGION)");
    }
    return 0;
}

int kvm_ioeventfd(int vm_fd, gpa_t address, int event_fd, struct err *err)
{
    struct kvm_ioeventfd ioeventfd = {
        .addr = address.value,
        .len = 4,
        .fd = event_fd,
    };

    if (ioctl(vm_fd, KVM_IOEVENTFD, &ioeventfd) < 0)
        return err_sys(err, "cannot register a doorbell (KVM_IOEVENTFD)");
    return 0;
}

int kvm_irq_edge(int vm_fd, uint32_t gsi, struct err *err)
{
    struct kvm_irq_level line = {.irq = gsi, .level = 1};
    int failed = ioctl(vm_fd, KVM_IRQ_LINE, &line);

    line.level = 0;
    if (failed < 0 || ioctl(vm_fd, KVM_IRQ_LINE, &line) < 0)
        return err_sys(err, "cannot raise an interrupt (KVM_IRQ_LINE)");
    return 0;
}

int kvm_vcpu_create(int kvm_fd, int vm_fd, uint32_t index, struct kvm_vcpu *vcpu, struct err *err)
{
    int run_bytes = ioctl(kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
    void *run;

    if (run_bytes < 0)
        return err_sys(err, "cannot learn the size of a vCPU's page (KVM_GET_VCPU_MMAP_SIZE)");
    if (run_bytes < (int)sizeof(struct kvm_run))
        return err_set(err, "this host's KVM says that a vCPU's page has %d bytes", run_bytes);
    vcpu->run_bytes = (uint64_t)run_bytes;
    vcpu->fd = ioctl(vm_fd, KVM_CREATE_VCPU, index);
    if (vcpu->fd < 0)
        return err_sys(err, "cannot create vCPU %u (KVM_CREATE_VCPU)", index);
    run = mmap(NULL, vcpu->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu->fd, 0);
    if (run == MAP_FAILED)
        return err_sys(err, "cannot map the page of vCPU %u", index);
    vcpu->run = run;
    return 0;
}
