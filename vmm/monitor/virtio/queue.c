/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c: split virtqueues, the device's side (monitor; input: the guest's). See queue.h.
 *
 * Rings are read with atomic loads of the width of the field: the compiler then loads once,
 * whatever the guest does meanwhile, and a 16-bit index is never seen half written.
 */
#include "monitor/virtio/queue.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/num.h"

/* Layout of the rings (§2.7.5, §2.7.6, §2.7.8). */
enum {
    DESC_BYTES = 16, /* u64 address, u32 length, u16 flags, u16 next */
    DESC_FLAG_NEXT = 1,
    DESC_FLAG_WRITE = 2,

    AVAIL_FLAGS = 0,
    AVAIL_IDX = 2,
    AVAIL_RING = 4, /* u16 each */
    AVAIL_FIXED_BYTES = 6,
    AVAIL_NO_INTERRUPT = 1,

    USED_IDX = 2,
    USED_RING = 4, /* u32 id, u32 length each */
    USED_ELEMENT_BYTES = 8,
    USED_FIXED_BYTES = 6,

    DESC_ALIGN = 16,
    AVAIL_ALIGN = 2,
    USED_ALIGN = 4,
};

static_assert(QUEUE_SIZE_MAX <= 32768, "an index that may run ahead by the size fits 16 bits");

struct descriptor {
    uint64_t raw_gpa;
    uint32_t raw_bytes;
    uint16_t raw_flags;
    uint16_t raw_next;
};

static uint16_t load16(const uint8_t *at)
{
    return le16toh(__atomic_load_n((const uint16_t *)(const void *)at, __ATOMIC_RELAXED));
}

static uint32_t load32(const uint8_t *at)
{
    return le32toh(__atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED));
}

static uint64_t load64(const uint8_t *at)
{
    return le64toh(__atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED));
}

static void store32(uint8_t *at, uint32_t value)
{
    __atomic_store_n((uint32_t *)(void *)at, htole32(value), __ATOMIC_RELAXED);
}

/* Acquire: orders this load before those of the ring entry and the descriptors, which the driver
 * wrote before it stored the index behind its own write barrier (§2.7.13.3). */
static uint16_t load_avail_idx(const struct queue *queue)
{
    const void *at = queue->avail + AVAIL_IDX;

    return le16toh(__atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE));
}

/* The host address of one ring, or NULL with ERR set. */
static void *queue_place(const struct guest_mem *mem, const char *ring, uint64_t raw_gpa,
    uint64_t size, uint64_t align, struct err *err)
{
    void *host;

    if (raw_gpa % align != 0) {
        (void)err_set(err, "%s at 0x%" PRIx64 " is not aligned to %" PRIu64, ring, raw_gpa, align);
        return NULL;
    }
    host = guest_mem_range(mem, gpa(raw_gpa), size);
    if (!host) {
        (void)err_set(
            err, "%s at 0x%" PRIx64 ", %" PRIu64 " bytes, is not in RAM", ring, raw_gpa, size);
        return NULL;
    }
    /* Regions are page-aligned on both sides. */
    must((uintptr_t)host % align == 0);
    return host;
}

int queue_activate(struct queue *queue, const struct guest_mem *mem,
    const struct queue_registers *registers, struct err *err)
{
    const struct queue_registers raw = *registers;
    const uint8_t *desc;
    uint8_t *avail, *used;
    uint64_t size = raw.raw_size;

    queue_reset(queue);
    if (size == 0 || size > QUEUE_SIZE_MAX || (size & (size - 1)) != 0)
        return err_set(
            err, "queue size %" PRIu64 " is not a power of two from 1 to %d", size, QUEUE_SIZE_MAX);
    desc =
        queue_place(mem, "descriptor table", raw.raw_desc_gpa, DESC_BYTES * size, DESC_ALIGN, err);
    if (!desc)
        return -1;
    avail = queue_place(
        mem, "available ring", raw.raw_avail_gpa, AVAIL_FIXED_BYTES + 2 * size, AVAIL_ALIGN, err);
    if (!avail)
        return -1;
    used = queue_place(mem, "used ring", raw.raw_used_gpa,
        USED_FIXED_BYTES + USED_ELEMENT_BYTES * size, USED_ALIGN, err);
    if (!used)
        return -1;
    queue->mem = mem;
    queue->desc = desc;
    queue->avail = avail;
    queue->used = used;
    queue->size = (uint16_t)size;
    return 0;
}

void queue_reset(struct queue *queue)
{
    *queue = (struct queue)QUEUE_INIT;
}

static struct descriptor descriptor_load(const struct queue *queue, uint16_t index)
{
    const uint8_t *at = queue->desc + (size_t)index * DESC_BYTES;

    return (struct descriptor){
        .raw_gpa = load64(at),
        .raw_bytes = load32(at + 8),
        .raw_flags = load16(at + 12),
        .raw_next = load16(at + 14),
    };
}

/* Check one descriptor (a local copy) and append it to CHAIN. */
static int chain_append(struct queue_chain *chain, const struct guest_mem *mem,
    const struct descriptor *descriptor, struct err *err)
{
    bool writable = descriptor->raw_flags & DESC_FLAG_WRITE;
    uint32_t bytes = descriptor->raw_bytes;
    uint8_t *host;

    /* INDIRECT is not offered, the other bits are reserved (§2.7.5). */
    if (descriptor->raw_flags & ~(DESC_FLAG_NEXT | DESC_FLAG_WRITE))
        return err_set(err, "descriptor flags 0x%x were not negotiated", descriptor->raw_flags);
    if (bytes == 0)
        return err_set(err, "descriptor of length 0");
    host = guest_mem_range(mem, gpa(descriptor->raw_gpa), bytes);
    if (!host)
        return err_set(err, "descriptor at 0x%" PRIx64 ", %" PRIu32 " bytes, is not in RAM",
            descriptor->raw_gpa, bytes);
    if (!writable && chain->part_count > chain->readable_count)
        return err_set(err, "readable descriptor behind a writable one");
    /* §2.7.5: at most 2^32 bytes in total; used.len holds one less, so one less is the limit. */
    if (bytes > UINT32_MAX - chain->readable_bytes - chain->writable_bytes)
        return err_set(err, "descriptor chain longer than 32 bits");
    chain->parts[chain->part_count++] = (struct queue_part){.host = host, .size_bytes = bytes};
    if (writable) {
        chain->writable_bytes += bytes;
    } else {
        chain->readable_bytes += bytes;
        chain->readable_count++;
    }
    return 0;
}

/* Follow the chain from HEAD; the bound is the queue's size, so a loop of descriptors ends. */
static int chain_collect(
    const struct queue *queue, uint16_t raw_head, struct queue_chain *chain, struct err *err)
{
    uint16_t raw_index = raw_head;

    chain->head = raw_head;
    chain->readable_count = 0;
    chain->part_count = 0;
    chain->readable_bytes = 0;
    chain->writable_bytes = 0;
    for (uint32_t count = 0; count < queue->size; count++) {
        struct descriptor descriptor;

        if (raw_index >= queue->size)
            return err_set(err, "descriptor index %u, the queue has %u", raw_index, queue->size);
        descriptor = descriptor_load(queue, raw_index);
        if (chain_append(chain, queue->mem, &descriptor, err) < 0)
            return -1;
        if (!(descriptor.raw_flags & DESC_FLAG_NEXT))
            return 0;
        raw_index = descriptor.raw_next;
    }
    return err_set(err, "descriptor chain longer than the queue (%u)", queue->size);
}

int queue_pop(struct queue *queue, struct queue_chain *chain, struct err *err)
{
    uint16_t waiting, raw_head;

    if (!queue->desc || queue->broken)
        return 0;
    waiting = (uint16_t)(load_avail_idx(queue) - queue->next_avail);
    if (waiting == 0)
        return 0;
    if (waiting > queue->size) {
        queue->broken = true;
        return err_set(err, "avail.idx is %u ahead, the queue has %u", waiting, queue->size);
    }
    raw_head = load16(queue->avail + AVAIL_RING + 2 * (size_t)(queue->next_avail % queue->size));
    queue->next_avail++;
    if (chain_collect(queue, raw_head, chain, err) < 0) {
        queue->broken = true;
        return -1;
    }
    return 1;
}

bool queue_has_work(const struct queue *queue)
{
    return !queue->broken && queue_waiting(queue) != 0;
}

uint16_t queue_waiting(const struct queue *queue)
{
    return queue->desc ? (uint16_t)(load_avail_idx(queue) - queue->next_avail) : 0;
}

void queue_push(struct queue *queue, const struct queue_chain *chain, uint32_t written_bytes)
{
    uint8_t *element;
    void *idx;

    must(queue->desc && written_bytes <= chain->writable_bytes);
    element =
        queue->used + USED_RING + USED_ELEMENT_BYTES * (size_t)(queue->next_used % queue->size);
    store32(element, chain->head);
    store32(element + 4, written_bytes);
    queue->next_used++;
    idx = queue->used + USED_IDX;
    /* Release: orders the element and the buffers that we filled before the index; the driver reads
     * the index first, then what it covers (§2.7.14). */
    __atomic_store_n((uint16_t *)idx, htole16(queue->next_used), __ATOMIC_RELEASE);
    queue->pushed = true;
}

bool queue_wants_interrupt(struct queue *queue)
{
    if (!queue->pushed || !queue->desc)
        return false;
    queue->pushed = false;
    /* Orders our store of used.idx before our load of the flags. The driver stores the flags,
     * fences, and then looks at used.idx once more: so one of the two sees what the other did, and
     * no completion stays unnoticed (§2.7.7.2). */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return !(load16(queue->avail + AVAIL_FLAGS) & AVAIL_NO_INTERRUPT);
}

/* A place in the parts of a chain. */
struct chain_place {
    const struct queue_part *part;
    uint32_t offset;
};

/* Find byte OFFSET of the readable or writable parts; false when there are no SIZE bytes. */
static bool chain_seek(const struct queue_chain *chain, bool writable, uint32_t offset,
    uint32_t size, struct chain_place *place)
{
    uint32_t limit = writable ? chain->writable_bytes : chain->readable_bytes;

    *place = (struct chain_place){
        .part = chain->parts + (writable ? chain->readable_count : 0),
        .offset = offset,
    };
    return range_within(offset, size, limit);
}

/* The next bytes in one piece, SIZE at most; there are that many, and SIZE is not 0. */
static uint32_t chain_step(struct chain_place *place, uint32_t size, uint8_t **host)
{
    uint32_t bytes;

    while (place->offset >= place->part->size_bytes) {
        place->offset -= place->part->size_bytes;
        place->part++;
    }
    bytes = (uint32_t)u64_min(place->part->size_bytes - place->offset, size);
    *host = place->part->host + place->offset;
    place->offset += bytes;
    return bytes;
}

uint32_t queue_chain_iov(const struct queue_chain *chain, bool writable, uint32_t offset,
    uint32_t size, struct iovec *iov)
{
    struct chain_place place;
    uint32_t count = 0;

    if (!chain_seek(chain, writable, offset, size, &place))
        return 0;
    while (size > 0) {
        uint8_t *host;
        uint32_t bytes = chain_step(&place, size, &host);

        iov[count++] = (struct iovec){.iov_base = host, .iov_len = bytes};
        size -= bytes;
    }
    return count;
}

bool queue_chain_read(const struct queue_chain *chain, uint32_t offset, void *to, uint32_t size)
{
    struct chain_place place;
    uint8_t *at = to;

    if (!chain_seek(chain, false, offset, size, &place))
        return false;
    while (size > 0) {
        uint8_t *host;
        uint32_t bytes = chain_step(&place, size, &host);

        memcpy(at, host, bytes);
        at += bytes;
        size -= bytes;
    }
    /* The copy is what is used from here on: keeps the compiler from going back to guest memory for
     * a value that it would rather not keep. */
    __asm__ volatile("" : : "r"(to) : "memory");
    return true;
}

bool queue_chain_write(
    const struct queue_chain *chain, uint32_t offset, const void *from, uint32_t size)
{
    struct chain_place place;
    const uint8_t *at = from;

    if (!chain_seek(chain, true, offset, size, &place))
        return false;
    while (size > 0) {
        uint8_t *host;
        uint32_t bytes = chain_step(&place, size, &host);

        memcpy(host, at, bytes);
        at += bytes;
        size -= bytes;
    }
    return true;
}

void queue_chain_take(const struct queue_chain *chain, uint32_t offset, void *to, uint32_t size)
{
    bool there = queue_chain_read(chain, offset, to, size);

    must(there);
}

void queue_chain_put(
    const struct queue_chain *chain, uint32_t offset, const void *from, uint32_t size)
{
    bool fits = queue_chain_write(chain, offset, from, size);

    must(fits);
}
