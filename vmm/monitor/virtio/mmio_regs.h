/* SPDX-License-Identifier: Apache-2.0 */
/* mmio_regs.h: numbers of the virtio-mmio register machine (virtio 1.2, §2.1 and §4.2.2). */
#ifndef VMM_MONITOR_VIRTIO_MMIO_REGS_H
#define VMM_MONITOR_VIRTIO_MMIO_REGS_H

/* Registers (§4.2.2): R readable, W writable. */
enum {
    REG_MAGIC = 0x000,                  /* R */
    REG_VERSION = 0x004,                /* R */
    REG_DEVICE_ID = 0x008,              /* R */
    REG_VENDOR_ID = 0x00c,              /* R */
    REG_DEVICE_FEATURES = 0x010,        /* R */
    REG_DEVICE_FEATURES_SELECT = 0x014, /* W */
    REG_DRIVER_FEATURES = 0x020,        /* W */
    REG_DRIVER_FEATURES_SELECT = 0x024, /* W */
    REG_QUEUE_SELECT = 0x030,           /* W */
    REG_QUEUE_SIZE_MAX = 0x034,         /* R */
    REG_QUEUE_SIZE = 0x038,             /* W */
    REG_QUEUE_READY = 0x044,            /* RW */
    REG_INTERRUPT_STATUS = 0x060,       /* R */
    REG_INTERRUPT_ACK = 0x064,          /* W */
    REG_STATUS = 0x070,                 /* RW */
    REG_QUEUE_DESC_LOW = 0x080,         /* W, like the five below */
    REG_QUEUE_DESC_HIGH = 0x084,
    REG_QUEUE_AVAIL_LOW = 0x090,
    REG_QUEUE_AVAIL_HIGH = 0x094,
    REG_QUEUE_USED_LOW = 0x0a0,
    REG_QUEUE_USED_HIGH = 0x0a4,
    REG_SHM_LENGTH_LOW = 0x0b0, /* R, like the three behind it */
    REG_SHM_BASE_HIGH = 0x0bc,
    REG_CONFIG = 0x100,
};

enum {
    MMIO_MAGIC = 0x74726976, /* "virt" */
    MMIO_VERSION = 2,
};

/* Device status (§2.1). */
enum {
    STATUS_ACKNOWLEDGE = 1,
    STATUS_DRIVER = 2,
    STATUS_DRIVER_OK = 4,
    STATUS_FEATURES_OK = 8,
    STATUS_NEEDS_RESET = 64,
    STATUS_FAILED = 128,

    STATUS_NEGOTIATING = STATUS_ACKNOWLEDGE | STATUS_DRIVER,
    STATUS_CONFIGURING = STATUS_NEGOTIATING | STATUS_FEATURES_OK,
    STATUS_ACTIVE = STATUS_CONFIGURING | STATUS_DRIVER_OK,
};

enum {
    INTERRUPT_USED = 1,
    INTERRUPT_CONFIG = 2,
};

#endif
