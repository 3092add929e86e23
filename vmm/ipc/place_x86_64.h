/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_x86_64.h: where the virtio devices of an x86_64 guest are: device N has the page at
 * DEVICES_GPA + N * DEVICE_BYTES and raises GSI FIRST_GSI + N. The monitor builds them there
 * (arch/x86_64/layout.h), the supervisor tells people (vmrun --plan).
 */
#ifndef VMM_IPC_PLACE_X86_64_H
#define VMM_IPC_PLACE_X86_64_H

#define PLACE_X86_64_DEVICES_GPA  0xd0000000ULL
#define PLACE_X86_64_DEVICE_BYTES 0x1000ULL
#define PLACE_X86_64_FIRST_GSI    16 /* IOAPIC pin: the legacy PIC has no part in 16 to 23 */

#endif
