/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hardware.h: how the guest learns about its hardware: a flattened device tree (SETUP_DTB), or, for
 * kernels without device tree support, an MP table and virtio_mmio.device= arguments.
 */
#ifndef VMM_MONITOR_ARCH_X86_64_HARDWARE_H
#define VMM_MONITOR_ARCH_X86_64_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Write the device tree into BYTES (SIZE of them); returns its length, or 0 with ERR set. */
size_t hardware_devicetree(
    uint8_t *bytes, size_t size, uint32_t cpu_count, uint32_t device_count, struct err *err);

/* Write the MP table (MultiProcessor Specification 1.4) for address GPA; the same. */
size_t hardware_mptable(
    uint8_t *bytes, size_t size, uint64_t gpa_value, uint32_t cpu_count, struct err *err);

/* Append " virtio_mmio.device=..." for each device to the command line TEXT of SIZE bytes. */
int hardware_cmdline(char *text, size_t size, uint32_t device_count, struct err *err);

#endif
