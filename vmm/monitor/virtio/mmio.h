/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmio.h: the virtio-mmio register machine, version 2 (virtio 1.2 §4.2.2), and the threads around a
 * device. Runs in the monitor; every access comes from the guest.
 *
 * Threads. mmio_read() and mmio_write() are called on vCPU threads. Everything a device does
 * (struct virtio_ops) happens on the thread of the event loop. Registers and queues are shared
 * between the two and guarded by `lock`; the state of the device behind them belongs to the loop
 * thread alone. A reset by the driver empties registers and queues at once, under the lock; the
 * device hears of it on the loop thread (`reset`) before it is asked to process anything again. I/O
 * is synchronous under the lock, so a reset finds none in flight.
 *
 * Wiring, after a model such as blk_init() or vsock_make() has called mmio_init():
 *   - bus: mmio_read() and mmio_write() for MMIO_WINDOW_BYTES of guest physical address space;
 *   - doorbell and interrupt: mmio_wire(), before the guest runs. All devices of a machine have one
 *     doorbell: KVM_IOEVENTFD at address + MMIO_QUEUE_NOTIFY, length 4, whatever is written. Writes
 *     that reach mmio_write() do the same. Which queue of which device has work its indices say;
 *   - loop: when the doorbell is readable, read it, and then mmio_kick() every device.
 */
#ifndef VMM_MONITOR_VIRTIO_MMIO_H
#define VMM_MONITOR_VIRTIO_MMIO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "monitor/guest_mem.h"
#include "monitor/virtio/queue.h"

enum {
    MMIO_WINDOW_BYTES = 0x1000,
    MMIO_QUEUE_NOTIFY = 0x50, /* offset of the doorbell register */
    MMIO_QUEUES_MAX = 3,
    MMIO_CONFIG_MAX_BYTES = 64,
};

#define VIRTIO_F_VERSION_1 (1ULL << 32)

/* Device ids (§5). */
enum {
    VIRTIO_ID_BLOCK = 2,
    VIRTIO_ID_VSOCK = 19,
};

struct mmio_device;

/* What a kind of device does; all on the loop thread, with the device lock held. */
struct virtio_ops {
    uint32_t device_id;
    uint32_t queue_count;
    /* The driver reset the device; may be called more often than there were activations.
     * May be NULL. */
    void (*reset)(void *context);
    /*
     * A queue may have work. Does a bounded amount: returns 1 when there is more to do (it will
     * be called again after other events had their turn), 0 when not, -1 when the guest broke a
     * rule that ERR names: the device then wants a reset. Interrupts are seen to by the caller.
     */
    int (*process)(void *context, struct mmio_device *device, struct err *err);
};

/* One device before it is on the bus. */
struct virtio_model {
    const struct virtio_ops *ops;
    void *context;     /* for ops */
    const char *name;  /* for messages: "disk 0"; static */
    uint64_t features; /* offered; VIRTIO_F_VERSION_1 is added */
    uint32_t config_bytes;
    uint8_t config[MMIO_CONFIG_MAX_BYTES]; /* device configuration space; constant */
};

struct mmio_queue {
    struct queue_registers registers; /* lock; frozen while ready and from DRIVER_OK on */
    bool ready;                       /* lock; from DRIVER_OK on it can only become false */
    struct queue queue;               /* lock */
};

/* What a device shares with the machine around it. */
struct mmio_wiring {
    int bell_fd; /* eventfd, non-blocking; the machine's */
    /* Raise LINE, an edge; on the loop thread, with the lock held. */
    void (*interrupt)(void *context, uint32_t line);
    void *context;
    uint32_t line;
};

struct mmio_device {
    struct virtio_model model;
    const struct guest_mem *mem;
    struct mmio_wiring wiring;

    /* Called once per breakage, on the loop thread, with the lock held; may be NULL. */
    void (*broken)(void *context, struct mmio_device *device, const struct err *err);
    void *broken_context;

    atomic_uint interrupt_status; /* not under the lock */

    pthread_mutex_t lock;
    uint32_t status;
    uint32_t device_features_select;
    uint32_t driver_features_select;
    uint64_t driver_features; /* what the driver wrote; a subset of the offer from FEATURES_OK on */
    bool driver_features_excess; /* it wrote bits past 63 as well: never a subset */
    uint32_t queue_select;
    bool reset_pending;    /* ops->reset is still to be called */
    bool breakage_pending; /* `broken` is still to be called */
    struct err breakage;
    struct mmio_queue queues[MMIO_QUEUES_MAX];
};

/* MODEL is copied. DEVICE stays where it is until mmio_fini(). */
int mmio_init(struct mmio_device *device, const struct virtio_model *model,
    const struct guest_mem *mem, struct err *err);
/* After the vCPU threads are gone. Safe on zeroed memory. */
void mmio_fini(struct mmio_device *device);

/* Before the guest runs; WIRING is copied. */
void mmio_wire(struct mmio_device *device, const struct mmio_wiring *wiring);

/*
 * An access of SIZE bytes at OFFSET of the window, on any thread. Registers take accesses of 4
 * bytes only, the configuration space takes aligned ones of 1, 2, 4 and 8; what is not allowed
 * reads as zero and is ignored when written. BYTES is in guest order (little-endian).
 */
void mmio_read(struct mmio_device *device, uint64_t offset, uint8_t *bytes, uint32_t size);
void mmio_write(struct mmio_device *device, uint64_t offset, const uint8_t *bytes, uint32_t size);

/* What the loop does when the doorbell rang, and has been read. Loop thread, lock not held. */
void mmio_kick(struct mmio_device *device);

/* For models: have mmio_kick() called soon. Any thread, with the lock or without. */
void mmio_wake(struct mmio_device *device);

/* For models, in process(): what was negotiated, and queue INDEX. */
bool mmio_has_feature(const struct mmio_device *device, uint64_t feature);
struct queue *mmio_queue(struct mmio_device *device, uint32_t index);

/*
 * One line for the diagnosis of a guest that hangs: the status of the device, whether the driver
 * acknowledged the last interrupt, and how far each active queue is. Writes "" for a device whose
 * status is 0: never touched, or reset. Any thread, lock not held.
 */
void mmio_describe(struct mmio_device *device, char *text, size_t size);

#endif
