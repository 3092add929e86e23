/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h: the driver's side of rings and registers, for tests. It does what it is told, right or
 * wrong; it never checks.
 */
#ifndef TESTS_UNIT_MONITOR_VIRTIO_DRIVER_H
#define TESTS_UNIT_MONITOR_VIRTIO_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/guest_mem.h"
#include "monitor/virtio/mmio.h"
#include "monitor/virtio/queue.h"

enum {
    DESC_NEXT = 1,
    DESC_WRITE = 2,
    DESC_INDIRECT = 4,

    REG_MAGIC = 0x000,
    REG_VERSION = 0x004,
    REG_DEVICE_ID = 0x008,
    REG_DEVICE_FEATURES = 0x010,
    REG_DEVICE_FEATURES_SEL = 0x014,
    REG_DRIVER_FEATURES = 0x020,
    REG_DRIVER_FEATURES_SEL = 0x024,
    REG_QUEUE_SEL = 0x030,
    REG_QUEUE_NUM_MAX = 0x034,
    REG_QUEUE_NUM = 0x038,
    REG_QUEUE_READY = 0x044,
    REG_QUEUE_NOTIFY = 0x050,
    REG_INTERRUPT_STATUS = 0x060,
    REG_INTERRUPT_ACK = 0x064,
    REG_STATUS = 0x070,
    REG_QUEUE_DESC_LOW = 0x080,
    REG_QUEUE_DESC_HIGH = 0x084,
    REG_QUEUE_DRIVER_LOW = 0x090,
    REG_QUEUE_DRIVER_HIGH = 0x094,
    REG_QUEUE_DEVICE_LOW = 0x0a0,
    REG_QUEUE_DEVICE_HIGH = 0x0a4,
    REG_CONFIG_GENERATION = 0x0fc,
    REG_CONFIG = 0x100,

    ACKNOWLEDGE = 1,
    DRIVER = 2,
    DRIVER_OK = 4,
    FEATURES_OK = 8,
    NEEDS_RESET = 64,
    FAILED = 128,
    RUNNING = ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK,
};

/* One ring, at addresses that follow from its number. */
struct driver_ring {
    const struct guest_mem *mem;
    struct queue_registers registers;
    uint16_t size;
    uint16_t avail_idx;
    uint16_t used_idx; /* what was taken from the used ring */
};

/* Rings are zeroed. Ring NUMBER has 64 KiB at (NUMBER + 1) * 64 KiB. */
struct driver_ring ring_place(const struct guest_mem *mem, uint32_t number, uint16_t size);
void ring_describe(struct driver_ring *ring, uint16_t index, uint64_t address, uint32_t length,
    uint16_t flags, uint16_t next);
/* Put HEAD into the avail ring and publish it. */
void ring_offer(struct driver_ring *ring, uint16_t head);
void ring_set_avail_idx(struct driver_ring *ring, uint16_t idx);
void ring_set_avail_flags(struct driver_ring *ring, uint16_t flags);
/* The next used element; false when there is none. */
bool ring_take(struct driver_ring *ring, uint32_t *head, uint32_t *length);

struct driver {
    struct mmio_device *device;
    const struct guest_mem *mem;
    struct driver_ring rings[MMIO_QUEUES_MAX];
};

/* The process has one doorbell, and one count of interrupts: for the device that was wired last. */
void driver_wire(struct mmio_device *device);
/* Interrupts since this was last asked. */
uint64_t driver_interrupts(void);

uint32_t driver_read(struct driver *driver, uint64_t offset);
void driver_write(struct driver *driver, uint64_t offset, uint32_t value);
/* Reset, then up to and with FEATURES_OK. FEATURES are written as they are. */
void driver_negotiate(struct driver *driver, uint64_t features);
/* Registers of queue INDEX, not ready yet. */
void driver_set_queue(struct driver *driver, uint32_t index, const struct driver_ring *ring);
/* All of it: negotiated, queues of QUEUE_SIZE placed and ready, DRIVER_OK. */
void driver_start(struct driver *driver, struct mmio_device *device, const struct guest_mem *mem,
    uint64_t features, uint16_t queue_size);
/* Do what a loop would: handle doorbells until none rings. */
void driver_settle(struct driver *driver);

#endif
