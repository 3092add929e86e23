/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h: split virtqueues (virtio 1.2 §2.7), the device's side. Runs in the monitor; every byte
 * of a ring is the guest's.
 *
 * VIRTIO_F_INDIRECT_DESC, VIRTIO_F_EVENT_IDX and VIRTIO_F_IN_ORDER are never offered; a descriptor
 * that uses them anyway breaks the queue. What the guest wrote is loaded once, checked, and only
 * the checked copy is used. A queue that broke a rule stays broken, and is not looked at again,
 * until the device is reset: so no ring can be made to be processed for ever.
 *
 * The caller serialises all calls for one queue (the device lock of mmio.h).
 */
#ifndef VMM_MONITOR_VIRTIO_QUEUE_H
#define VMM_MONITOR_VIRTIO_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "monitor/guest_mem.h"

enum { QUEUE_SIZE_MAX = 256 };

/* One buffer of a chain: in guest RAM as a whole, never empty. */
struct queue_part {
    uint8_t *host;
    uint32_t size_bytes;
};

/*
 * A chain of descriptors, copied and checked. The parts that the device reads come first, the parts
 * that it writes follow (§2.7.4.2). The bytes behind the parts change at any time.
 */
struct queue_chain {
    uint16_t head;
    uint32_t readable_count; /* parts [0, readable_count) */
    uint32_t part_count;     /* parts [readable_count, part_count) are writable */
    uint32_t readable_bytes;
    uint32_t writable_bytes; /* both together fit 32 bits */
    struct queue_part parts[QUEUE_SIZE_MAX];
};

/* What the driver wrote into the registers: not checked until queue_activate(). */
struct queue_registers {
    uint32_t raw_size;
    uint64_t raw_desc_gpa;
    uint64_t raw_avail_gpa;
    uint64_t raw_used_gpa;
};

struct queue {
    const struct guest_mem *mem;
    const uint8_t *desc; /* NULL: not active */
    uint8_t *avail;
    uint8_t *used;
    uint16_t size;
    uint16_t next_avail; /* free-running, like avail.idx */
    uint16_t next_used;
    bool broken;
    bool pushed; /* something was returned since the last queue_wants_interrupt() */
};

#define QUEUE_INIT                                                                                 \
    {                                                                                              \
        .mem = NULL                                                                                \
    }

/*
 * Check size (power of two, at most QUEUE_SIZE_MAX), alignment and place of the three rings (§2.7),
 * and keep their host addresses: the registers are not read again. QUEUE is left inactive on error,
 * whose text names the rule.
 */
int queue_activate(struct queue *queue, const struct guest_mem *mem,
    const struct queue_registers *registers, struct err *err);

/* Back to inactive. */
void queue_reset(struct queue *queue);

/*
 * Take the next available chain. Returns 1 with CHAIN filled, 0 when there is none (or the queue is
 * inactive or broken already), -1 when the guest broke a rule, which ERR names; the queue is broken
 * from then on. Every chain that was taken is given back with queue_push().
 */
int queue_pop(struct queue *queue, struct queue_chain *chain, struct err *err);

/* True when queue_pop() would not return 0. */
bool queue_has_work(const struct queue *queue);

/* Chains that the driver offered and queue_pop() has not taken; a guest may claim any number. */
uint16_t queue_waiting(const struct queue *queue);

/* Give CHAIN back: the device wrote WRITTEN_BYTES from the start of its writable parts (§2.7.8). */
void queue_push(struct queue *queue, const struct queue_chain *chain, uint32_t written_bytes);

/*
 * True when chains were given back since the last call and the driver has not suppressed interrupts
 * (avail.flags, §2.7.7).
 */
bool queue_wants_interrupt(struct queue *queue);

/*
 * Copy SIZE bytes out of the readable parts, from OFFSET on; exactly once, so that what was checked
 * is what is used. False, and nothing copied, when there are not that many.
 */
bool queue_chain_read(const struct queue_chain *chain, uint32_t offset, void *to, uint32_t size);

/* The same into the writable parts. */
bool queue_chain_write(
    const struct queue_chain *chain, uint32_t offset, const void *from, uint32_t size);

/* The same where the caller has seen that there is room: a bug of ours when there is not. */
void queue_chain_take(const struct queue_chain *chain, uint32_t offset, void *to, uint32_t size);
void queue_chain_put(
    const struct queue_chain *chain, uint32_t offset, const void *from, uint32_t size);

/*
 * Describe SIZE bytes from OFFSET of the readable (or writable) parts in IOV, which has room for
 * QUEUE_SIZE_MAX. Returns the count; 0 when SIZE is 0 or there are not that many bytes.
 */
uint32_t queue_chain_iov(const struct queue_chain *chain, bool writable, uint32_t offset,
    uint32_t size, struct iovec *iov);

#endif
