/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_image.h: loads the kernel file into guest RAM: an x86_64 ELF (vmlinux), or a bzImage with
 * a 64-bit entry point (Documentation/x86/boot.rst). The file is the user's, and may be garbage.
 */
#ifndef VMM_MONITOR_ARCH_X86_64_KERNEL_IMAGE_H
#define VMM_MONITOR_ARCH_X86_64_KERNEL_IMAGE_H

#include <stdbool.h>

#include "base/err.h"
#include "monitor/guest_mem.h"

enum {
    SETUP_HEADER_OFFSET = 0x1f1, /* in the file and in the zero page */
    SETUP_HEADER_MAX_BYTES = 0x290 - SETUP_HEADER_OFFSET,
};

struct kernel_image {
    uint64_t entry;              /* guest physical */
    uint64_t end;                /* first byte that the kernel does not need while it starts */
    uint32_t setup_header_bytes; /* bzImage: what goes into the zero page; 0 for an ELF */
    uint8_t setup_header[SETUP_HEADER_MAX_BYTES];
};

int kernel_image_load(
    int fd, const struct guest_mem *mem, struct kernel_image *image, struct err *err);

#endif
