/* SPDX-License-Identifier: Apache-2.0 */
/* host.c of aarch64: see arch.h. */
#include "supervisor/arch/arch.h"

/* EL2 cannot be seen from user space: whether /dev/kvm works says it all. */
bool host_cpu_has_virtualization(void)
{
    return true;
}

bool host_cpu_is_guest(void)
{
    return false;
}

const char *host_kernel_cmdline(bool console)
{
    if (console)
        return KERNEL_CMDLINE_COMMON "loglevel=7 earlycon console=ttyS0,115200";
    return KERNEL_CMDLINE_COMMON "quiet loglevel=0 8250.nr_uarts=0";
}

/* Its layout is not one that both sides share yet. */
bool host_device_place(uint32_t index, struct host_device_place *place)
{
    (void)index;
    (void)place;
    return false;
}
