/* SPDX-License-Identifier: Apache-2.0 */
/* blk_disk.h: a virtio-blk device on a file with a pattern, and its driver, for tests. */
#ifndef TESTS_UNIT_MONITOR_VIRTIO_BLK_DISK_H
#define TESTS_UNIT_MONITOR_VIRTIO_BLK_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/virtio/blk.h"
#include "tests/unit/monitor/virtio/driver.h"

enum {
    SECTORS = 64,
    DISK_BYTES = SECTORS * BLK_SECTOR_BYTES,

    HEADER = 0x100000, /* where the driver keeps the parts of a request */
    STATUS = 0x100100,
    DATA = 0x200000,

    IN = 0,
    OUT = 1,
    FLUSH = 4,
    GET_ID = 8,
    DISCARD = 11,
    WRITE_ZEROES = 13,

    OK = 0,
    IOERR = 1,
    UNSUPP = 2,
    NO_STATUS = 0xee,
};

#define F_RO      (1ULL << 5)
#define F_FLUSH   (1ULL << 9)
#define F_DISCARD (1ULL << 13)
#define F_ZEROES  (1ULL << 14)
#define F_ALL     (F_FLUSH | F_DISCARD | F_ZEROES)

struct disk {
    struct guest_mem mem;
    struct blk blk;
    struct driver driver;
    int fd;
    int failures;
    uint32_t used_length; /* of the last request */
};

/* A started, writable disk with every feature; *STATE becomes it. For cmocka. */
int disk_set_up(void **state);
int disk_tear_down(void **state);
/* The same file behind a new device, started. */
void disk_open(struct disk *f, bool readonly, uint64_t features);

/* A byte of the disk at first. */
uint8_t disk_pattern(uint64_t at);
void disk_assert_pattern(struct disk *f, uint64_t from, uint64_t bytes);
void disk_assert_zero(struct disk *f, uint64_t from, uint64_t bytes);

uint8_t *disk_data(struct disk *f, uint64_t size);
void disk_put_header(struct disk *f, uint32_t type, uint64_t sector);
/* Range INDEX of DISCARD and WRITE_ZEROES. */
void disk_put_range(
    struct disk *f, uint32_t index, uint64_t sector, uint32_t sectors, uint32_t flags);
/* Offer the chain at 0, ring the doorbell, settle, take the used element; the status byte. */
uint8_t disk_finish(struct disk *f);
/* A request in the shape that Linux gives it: header, data in one piece, status. */
uint8_t disk_request(struct disk *f, uint32_t type, uint64_t sector, uint32_t bytes);

#endif
