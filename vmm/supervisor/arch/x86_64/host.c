/* SPDX-License-Identifier: Apache-2.0 */
/* host.c of x86_64: see arch.h. */
#include <cpuid.h>

#include "ipc/place_x86_64.h"
#include "supervisor/arch/arch.h"

bool host_cpu_has_virtualization(void)
{
    unsigned eax, ebx, ecx, edx;
    bool vmx = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 5));
    bool svm = __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 2));

    return vmx || svm;
}

bool host_cpu_is_guest(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 31));
}

/*
 * noreplace-smp: with one vCPU the kernel would take the lock prefixes out of its text, a
 * page-table walk and a flush for each, which costs more than they do. reboot=t,force: a triple
 * fault at once; what would be put to rest first, pin by pin of the IOAPIC, goes with the machine.
 */
const char *host_kernel_cmdline(bool console)
{
    if (console)
        return KERNEL_CMDLINE_COMMON
            "noreplace-smp reboot=t,force loglevel=7 earlycon=uart8250,io,0x3f8,115200 "
            "console=ttyS0,115200";
    /* Without a 16550 the driver would still probe for four. */
    return KERNEL_CMDLINE_COMMON "noreplace-smp reboot=t,force quiet loglevel=0 8250.nr_uarts=0";
}

bool host_device_place(uint32_t index, struct host_device_place *place)
{
    place->gpa = PLACE_X86_64_DEVICES_GPA + index * PLACE_X86_64_DEVICE_BYTES;
    place->gsi = PLACE_X86_64_FIRST_GSI + index;
    return true;
}
