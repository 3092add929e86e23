/* SPDX-License-Identifier: Apache-2.0 */
/* host.c of aarch64: see arch.h. */
#include <string.h>

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

const char host_guest_kernels[] = "an uncompressed Image for aarch64";

/* Documentation/arch/arm64/booting.rst: magic at 56. */
bool host_is_guest_kernel(const uint8_t head[KERNEL_HEAD_BYTES])
{
    return memcmp(head + 56, "ARM\x64", 4) == 0;
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
