/* SPDX-License-Identifier: Apache-2.0 */
/* mmio.h: the driver's side of a virtio-mmio device (virtio 1.2 §4.2.2, §3.1.1). */
#ifndef TESTS_GUEST_LIB_MMIO_H
#define TESTS_GUEST_LIB_MMIO_H

#include "lib/guest.h"

enum {
    REG_MAGIC = 0x000,
    REG_VERSION = 0x004,
    REG_DEVICE_ID = 0x008,
    REG_VENDOR_ID = 0x00c,
    REG_DEVICE_FEATURES = 0x010,
    REG_DEVICE_FEATURES_SELECT = 0x014,
    REG_DRIVER_FEATURES = 0x020,
    REG_DRIVER_FEATURES_SELECT = 0x024,
    REG_QUEUE_SELECT = 0x030,
    REG_QUEUE_SIZE_MAX = 0x034,
    REG_QUEUE_SIZE = 0x038,
    REG_QUEUE_READY = 0x044,
    REG_QUEUE_NOTIFY = 0x050,
    REG_INTERRUPT_STATUS = 0x060,
    REG_INTERRUPT_ACK = 0x064,
    REG_STATUS = 0x070,
    REG_QUEUE_DESC = 0x080, /* low, high */
    REG_QUEUE_AVAIL = 0x090,
    REG_QUEUE_USED = 0x0a0,
    REG_SHM_LENGTH = 0x0b0,
    REG_GENERATION = 0x0fc,
    REG_CONFIG = 0x100,
    WINDOW_BYTES = 0x1000,

    STATUS_ACKNOWLEDGE = 1,
    STATUS_DRIVER = 2,
    STATUS_DRIVER_OK = 4,
    STATUS_FEATURES_OK = 8,
    STATUS_NEEDS_RESET = 64,
    STATUS_FAILED = 128,
    STATUS_CONFIGURING = STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK,
    STATUS_ACTIVE = STATUS_CONFIGURING | STATUS_DRIVER_OK,

    INTERRUPT_USED = 1,
    INTERRUPT_CONFIG = 2,

    ID_BLOCK = 2,
    ID_VSOCK = 19,
};

#define F_VERSION_1 (1ULL << 32)

struct device {
    uint64_t gpa;
    uint32_t id;
};

/* Device INDEX of those with this id; dies when there is none. */
struct device device_find(uint32_t id, unsigned index);

uint64_t access_read(uint64_t gpa, unsigned size);
void access_write(uint64_t gpa, unsigned size, uint64_t value);

static inline uint32_t reg_read(const struct device *device, uint32_t offset)
{
    return (uint32_t)access_read(device->gpa + offset, 4);
}

static inline void reg_write(const struct device *device, uint32_t offset, uint32_t value)
{
    access_write(device->gpa + offset, 4, value);
}

/* Add BITS to the status. */
void status_add(const struct device *device, uint32_t bits);

uint64_t features_offered(const struct device *device);
void features_write(const struct device *device, uint64_t features);

/* Reset, acknowledge, negotiate: up to FEATURES_OK. */
void device_negotiate(const struct device *device, uint64_t features);

/* Wait until the status has BITS; false when that does not come. */
bool status_await(const struct device *device, uint32_t bits);
/* The same of the interrupt status: a device notifies after it has changed what it notifies of. */
bool interrupt_await(const struct device *device, uint32_t bits);

#endif
