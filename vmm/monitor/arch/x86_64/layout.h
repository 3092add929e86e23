/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h: the guest physical address space on x86_64. RAM below the hole at 3 GiB, the rest above
 * 4 GiB; the hole holds the virtio registers, and the IOAPIC and LAPIC where every PC has them.
 *
 * Below 1 MiB lies what the boot protocol needs (Documentation/x86/boot.rst, zero-page.rst); the
 * kernel copies or reserves all of it before it uses that memory for itself.
 */
#ifndef VMM_MONITOR_ARCH_X86_64_LAYOUT_H
#define VMM_MONITOR_ARCH_X86_64_LAYOUT_H

#include "base/num.h"
#include "ipc/place_x86_64.h"

#define LAYOUT_GDT       0x500ULL
#define LAYOUT_ZERO_PAGE 0x7000ULL
#define LAYOUT_STACK     0x8ff0ULL
#define LAYOUT_PML4      0x9000ULL /* identity map of the first GiB, in 2 MiB pages */
#define LAYOUT_PDPT      0xa000ULL
#define LAYOUT_PD        0xb000ULL
#define LAYOUT_CMDLINE   0x20000ULL
#define LAYOUT_DTB       0x21000ULL /* a setup_data entry */
#define LAYOUT_SEED      0x29000ULL /* a setup_data entry */
#define LAYOUT_MPTABLE   0x9fc00ULL /* the kernel looks for it in the last KiB of base memory */
#define LAYOUT_LOW_END   0x9fc00ULL /* RAM up to here, then nothing up to 1 MiB */
#define LAYOUT_KERNEL    0x100000ULL
#define LAYOUT_HOLE      (3 * GIB)
#define LAYOUT_DEVICES   PLACE_X86_64_DEVICES_GPA
#define LAYOUT_IOAPIC    0xfec00000ULL
#define LAYOUT_LAPIC     0xfee00000ULL
#define LAYOUT_TSS       0xfffbd000ULL /* three pages that KVM wants on Intel */
#define LAYOUT_IDENTITY  0xfffbc000ULL /* one page, the same; where KVM puts it by itself */
#define LAYOUT_HIGH      (4 * GIB)

#define LAYOUT_CMDLINE_BYTES (LAYOUT_DTB - LAYOUT_CMDLINE)
#define LAYOUT_DTB_BYTES     (LAYOUT_SEED - LAYOUT_DTB)
#define LAYOUT_MAPPED_BYTES  GIB

enum {
    LAYOUT_FIRST_PIN =
        PLACE_X86_64_FIRST_GSI, /* IOAPIC pins 16 to 23: the legacy PIC has no part in them */
    LAYOUT_LAST_PIN = 23,
    LAYOUT_COM1 = 0x3f8,
};

#endif
