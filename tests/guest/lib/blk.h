/* SPDX-License-Identifier: Apache-2.0 */
/* blk.h: a driver of virtio-blk (virtio 1.2 §5.2) that sends what it is told to. */
#ifndef TESTS_GUEST_LIB_BLK_H
#define TESTS_GUEST_LIB_BLK_H

#include "lib/virtq.h"

#define BLK_F_RO           (1ULL << 5)
#define BLK_F_FLUSH        (1ULL << 9)
#define BLK_F_DISCARD      (1ULL << 13)
#define BLK_F_WRITE_ZEROES (1ULL << 14)

enum {
    SECTOR_BYTES = 512,
    BLK_HEADER_BYTES = 16,
    BLK_QUEUE_SIZE = 16,

    BLK_IN = 0,
    BLK_OUT = 1,
    BLK_FLUSH = 4,
    BLK_GET_ID = 8,
    BLK_DISCARD = 11,
    BLK_WRITE_ZEROES = 13,
    BLK_SECURE_ERASE = 14,

    BLK_OK = 0,
    BLK_IOERR = 1,
    BLK_UNSUPP = 2,
    /* What blk_answer() returns when there is no status byte. */
    BLK_UNTOUCHED = 0xee, /* given back, status not written */
    BLK_NEEDS_RESET = 0x100,
    BLK_SILENT = 0x101,
};

struct blk_header {
    uint32_t type;
    uint32_t reserved;
    uint64_t sector;
};

struct blk_range {
    uint64_t sector;
    uint32_t sectors;
    uint32_t flags;
};

/* A buffer of a chain. */
struct piece {
    const volatile void *at;
    uint32_t bytes;
    bool write; /* by the device */
};

struct blk {
    struct device device;
    struct virtq queue;
};

/* The disks in the order of the machine. */
enum { DISK_IMAGE = 0, DISK_SCRATCH = 1, DISK_EXPORT = 2 };

/* Reset and start disk INDEX with FEATURES of those it offers and a queue of SIZE. */
void blk_up(struct blk *blk, unsigned index, uint64_t features, uint16_t size);
uint64_t blk_sectors(const struct blk *blk);

/* The header of the next request, and its status byte, BLK_UNTOUCHED before. */
extern struct blk_header blk_header;
extern volatile uint8_t blk_status;

/* Offer PIECES as one chain from descriptor 0 on and kick; nothing is waited for. */
void blk_send(struct blk *blk, const struct piece *pieces, unsigned count);
/* The status of what was sent, or why there is none; *BYTES is the used length. */
uint32_t blk_answer(struct blk *blk, uint32_t *bytes);

/* A well-formed request with DATA in one buffer. */
uint32_t blk_request(
    struct blk *blk, uint32_t type, uint64_t sector, volatile void *data, uint32_t bytes);

#endif
