/* SPDX-License-Identifier: Apache-2.0 */
/* villain.h: the groups of cases of the villain. */
#ifndef TESTS_GUEST_VILLAIN_VILLAIN_H
#define TESTS_GUEST_VILLAIN_VILLAIN_H

#include "lib/blk.h"
#include "lib/cases.h"

/* Each group runs its tables to the end. */
void villain_mmio(void);
void villain_queue(void);
void villain_hole(void); /* needs RAM on both sides of the hole */
void villain_blk(void);
void villain_vsock(void);
void villain_cpu(void);
void villain_race(void);

/* The device breaks off: DEVICE_NEEDS_RESET, and an interrupt that says so (§2.1.2). */
void expect_broken(const struct device *device);

/* For the groups that need a disk: reset scratch, write a sector, read it back. */
extern struct blk villain_disk;
void villain_disk_serves(void);

#endif
