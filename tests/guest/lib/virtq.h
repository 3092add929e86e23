/* SPDX-License-Identifier: Apache-2.0 */
/* virtq.h: the driver's side of a split virtqueue (virtio 1.2 §2.7), which checks nothing. */
#ifndef TESTS_GUEST_LIB_VIRTQ_H
#define TESTS_GUEST_LIB_VIRTQ_H

#include "lib/mmio.h"

enum {
    VIRTQ_SIZE_MAX = 256,
    DESC_NEXT = 1,
    DESC_WRITE = 2,
    DESC_INDIRECT = 4,
};

struct virtq_desc {
    uint64_t gpa;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

struct virtq_rings {
    struct virtq_desc desc[VIRTQ_SIZE_MAX];
    uint16_t avail_flags;
    uint16_t avail_idx;
    uint16_t avail_ring[VIRTQ_SIZE_MAX + 2];
    struct {
        uint16_t flags;
        uint16_t idx;
        struct {
            uint32_t id;
            uint32_t bytes;
        } ring[VIRTQ_SIZE_MAX];
    } used __attribute__((aligned(16)));
} __attribute__((aligned(4096)));

struct virtq {
    const struct device *device;
    uint32_t index;
    uint16_t size;
    uint16_t seen; /* of used.idx */
    volatile struct virtq_rings *rings;
};

/* A queue of SIZE in RINGS, all zero; nothing is written to the device. */
struct virtq virtq_make(
    const struct device *device, uint32_t index, uint16_t size, struct virtq_rings *rings);

/* Select the queue and write the address of one ring. */
void virtq_write_place(const struct virtq *queue, uint32_t reg, uint64_t gpa);
/* All registers, QueueReady last. */
void virtq_register(const struct virtq *queue);

void virtq_desc(const struct virtq *queue, uint16_t index, uint64_t gpa, uint32_t bytes,
    uint16_t flags, uint16_t next);
/* Offer the chain that begins at HEAD. */
void virtq_offer(const struct virtq *queue, uint16_t head);
void virtq_kick(const struct virtq *queue);

/* The next used element: waits for it; false when it does not come. */
bool virtq_take(struct virtq *queue, uint32_t *id, uint32_t *bytes);

#endif
