/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c: address space, interrupt controllers and port I/O on x86_64. Runs in the monitor. */
#include <assert.h>
#include <cpuid.h>
#include <string.h>
#include <sys/ioctl.h>

#include "monitor/arch/arch.h"
#include "monitor/arch/x86_64/layout.h"

const struct arch_cap arch_required_caps[] = {
    {KVM_CAP_IRQCHIP, "KVM_CAP_IRQCHIP", false},
    {KVM_CAP_EXT_CPUID, "KVM_CAP_EXT_CPUID", false},
    {KVM_CAP_SET_TSS_ADDR, "KVM_CAP_SET_TSS_ADDR", false},
    /* Without it a guest that has no PIT finds no timer and dies before it can say why. */
    {KVM_CAP_TSC_DEADLINE_TIMER, "KVM_CAP_TSC_DEADLINE_TIMER", true},
    {0, NULL, false},
};

uint32_t arch_memory_regions(
    uint64_t size_bytes, struct guest_mem_region regions[GUEST_MEM_REGIONS_MAX])
{
    regions[0].gpa = 0;
    regions[0].size_bytes = u64_min(size_bytes, LAYOUT_HOLE);
    if (size_bytes <= LAYOUT_HOLE)
        return 1;
    regions[1].gpa = LAYOUT_HIGH;
    regions[1].size_bytes = size_bytes - LAYOUT_HOLE;
    return 2;
}

static_assert(ARCH_DEVICE_BYTES == PLACE_X86_64_DEVICE_BYTES, "what --plan says");

gpa_t arch_device_gpa(uint32_t index)
{
    must(index < ARCH_DEVICES_MAX);
    return gpa(LAYOUT_DEVICES + (uint64_t)index * ARCH_DEVICE_BYTES);
}

uint32_t arch_device_gsi(uint32_t index)
{
    must(LAYOUT_FIRST_PIN + index <= LAYOUT_LAST_PIN);
    return LAYOUT_FIRST_PIN + index;
}

/* AMD's virtualization (APM volume 3, CPUID Fn8000_0001_ECX). */
static bool host_has_svm(void)
{
    unsigned int eax, ebx, ecx, edx;

    return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & 1U << 2);
}

int arch_vm_init(int vm_fd, struct err *err)
{
    /* Only matters on Intel hosts without unrestricted guest mode; before any vCPU. The identity
     * map, the same, is by default in the page before it (KVM_SET_IDENTITY_MAP_ADDR). */
    if (!host_has_svm() && ioctl(vm_fd, KVM_SET_TSS_ADDR, LAYOUT_TSS) < 0)
        return err_sys(err, "cannot place the TSS (KVM_SET_TSS_ADDR)");
    if (ioctl(vm_fd, KVM_CREATE_IRQCHIP, 0) < 0)
        return err_sys(err, "cannot create the interrupt controllers (KVM_CREATE_IRQCHIP)");
    return 0;
}

/* One access of SIZE bytes at PORT: the console answers byte by byte, everything else is all ones.
 */
static void port_access(struct kvm_run *run, uint8_t *data, struct console *console)
{
    uint32_t offset = (uint32_t)run->io.port - LAYOUT_COM1;
    bool ours =
        console && run->io.size == 1 && run->io.port >= LAYOUT_COM1 && offset < CONSOLE_REGISTERS;

    if (run->io.direction == KVM_EXIT_IO_OUT) {
        if (ours)
            console_write(console, offset, data[0]);
        return;
    }
    memset(data, 0xff, run->io.size);
    if (ours)
        data[0] = console_read(console, offset);
}

bool arch_vcpu_exit(struct kvm_run *run, struct console *console)
{
    uint8_t *data = (uint8_t *)run + run->io.data_offset;

    if (run->exit_reason != KVM_EXIT_IO)
        return false;
    /* KVM bounds count so that the data fits its page (one page after kvm_run). */
    for (uint32_t i = 0; i < run->io.count; i++)
        port_access(run, data + (size_t)i * run->io.size, console);
    return true;
}

void arch_vcpu_registers(int vcpu_fd, struct ipc_ended *ended)
{
    struct kvm_regs regs;
    struct kvm_sregs sregs;

    if (ioctl(vcpu_fd, KVM_GET_REGS, &regs) == 0) {
        ended->rip = regs.rip;
        ended->rsp = regs.rsp;
        ended->rflags = regs.rflags;
    }
    if (ioctl(vcpu_fd, KVM_GET_SREGS, &sregs) == 0)
        ended->cr3 = sregs.cr3;
}
