/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h: what the supervisor has to know about the processor; each folder here has all of it. */
#ifndef VMM_SUPERVISOR_ARCH_H
#define VMM_SUPERVISOR_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The processor says that it can run guests (x86: VMX or SVM; CPUID, no system call). */
bool host_cpu_has_virtualization(void);

/* This machine is itself a guest. */
bool host_cpu_is_guest(void);

/*
 * kernel_head.c. Do the headers of the guest kernel in FD, SIZE bytes long, say that it is one that
 * the monitor can boot here, and whole? ERR says what is wrong and what would be right. *RAM_BYTES
 * is the RAM that a guest has to have so that it can be loaded, from the start of RAM to its end.
 */
int host_check_guest_kernel(int fd, uint64_t size, uint64_t *ram_bytes, struct err *err);

/*
 * On every kernel: reset by triple fault and at once after a panic, so that the monitor sees the
 * end; no modules and no bounce buffers to set up; entropy from the boot seed, so that getrandom()
 * never waits; RCU grace periods that do not stretch the boot.
 */
#define KERNEL_CMDLINE_COMMON                                                                      \
    "panic=-1 nomodule swiotlb=noforce cryptomgr.notests random.trust_cpu=on "                     \
    "random.trust_bootloader=on rcupdate.rcu_expedited=1 "

/* Where the guest finds virtio device INDEX; false where only the monitor knows. */
struct host_device_place {
    uint64_t gpa;
    uint32_t gsi;
};
bool host_device_place(uint32_t index, struct host_device_place *place);

/* The whole kernel command line but for device arguments. */
const char *host_kernel_cmdline(bool console);

#endif
