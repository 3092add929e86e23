/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_ram.h: guest RAM for tests: two regions with a hole between them, each its own allocation,
 * so that the address sanitizer sees an access past either.
 */
#ifndef TESTS_UNIT_MONITOR_VIRTIO_FAKE_RAM_H
#define TESTS_UNIT_MONITOR_VIRTIO_FAKE_RAM_H

#include "monitor/guest_mem.h"

#define FAKE_LOW_BYTES  0x400000ULL
#define FAKE_HIGH_GPA   0x100000000ULL
#define FAKE_HIGH_BYTES 0x10000ULL

void fake_ram_make(struct guest_mem *mem);
void fake_ram_free(struct guest_mem *mem);

/* A range that must be RAM. */
uint8_t *fake_ram_at(const struct guest_mem *mem, uint64_t address, uint64_t size);

#endif
