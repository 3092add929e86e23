/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/*
 * queue_fuzz.c: the input is what a driver writes into the registers and the rings, in steps.
 * Whatever that is, a chain lies in RAM, its sums are right, and a broken queue stays broken.
 */
#include "base/cursor.h"
#include "monitor/virtio/queue.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum { DATA = 0x100000, STEPS_MAX = 512 };

static void check_chain(
    const struct guest_mem *mem, const struct queue *queue, const struct queue_chain *chain)
{
    uint64_t readable = 0, writable = 0;
    struct iovec iov[QUEUE_SIZE_MAX];
    uint8_t bytes[64];

    must(chain->head < queue->size);
    must(chain->part_count >= 1 && chain->part_count <= queue->size);
    must(chain->readable_count <= chain->part_count);
    for (uint32_t i = 0; i < chain->part_count; i++) {
        const struct queue_part *part = &chain->parts[i];
        bool inside = false;

        must(part->size_bytes > 0);
        for (uint32_t r = 0; r < mem->region_count; r++) {
            const struct guest_mem_region *region = &mem->regions[r];

            inside |= part->host >= region->host &&
                      part->host + part->size_bytes <= region->host + region->size_bytes;
        }
        must(inside);
        *(i < chain->readable_count ? &readable : &writable) += part->size_bytes;
    }
    must(readable == chain->readable_bytes && writable == chain->writable_bytes);
    must(readable + writable <= UINT32_MAX);
    must(queue_chain_iov(chain, false, 0, chain->readable_bytes, iov) == chain->readable_count);
    must(queue_chain_read(chain, 0, bytes, 64) == (readable >= 64));
    if (readable >= 70)
        must(queue_chain_read(chain, chain->readable_bytes - 64, bytes, 64));
    must(!queue_chain_read(chain, chain->readable_bytes, bytes, 1));
}

static void pop_all(const struct guest_mem *mem, struct queue *queue)
{
    static struct queue_chain chain;
    struct err err = ERR_INIT;
    uint32_t count = 0;
    int popped;

    while ((popped = queue_pop(queue, &chain, &err)) > 0) {
        must(++count <= queue->size);
        check_chain(mem, queue, &chain);
        queue_push(queue, &chain, chain.writable_bytes);
    }
    if (popped < 0) {
        must(err_is_set(&err) && queue->broken);
        must(queue_pop(queue, &chain, &err) == 0);
    }
    (void)queue_wants_interrupt(queue);
}

/* Mostly a good address, sometimes any. */
static uint64_t read_address(struct reader *reader)
{
    uint8_t kind = reader_u8(reader);

    if (kind < 200)
        return DATA + reader_u16(reader);
    if (kind < 220)
        return FAKE_LOW_BYTES - reader_u8(reader);
    if (kind < 240)
        return FAKE_HIGH_GPA + FAKE_HIGH_BYTES - reader_u8(reader);
    return reader_u64(reader);
}

static void place_queue(
    struct reader *reader, struct driver_ring *ring, const struct guest_mem *mem)
{
    uint8_t knobs = reader_u8(reader);

    *ring = ring_place(mem, 0, (uint16_t)(1 << (knobs & 7)));
    if (knobs & 8)
        ring->registers.raw_size = reader_u32(reader);
    if (knobs & 16)
        ring->registers.raw_desc_gpa = read_address(reader);
    if (knobs & 32)
        ring->registers.raw_avail_gpa = read_address(reader);
    if (knobs & 64)
        ring->registers.raw_used_gpa = read_address(reader);
}

/* One thing that a driver does. */
static void step(struct reader *reader, const struct guest_mem *mem, struct driver_ring *ring,
    struct queue *queue)
{
    uint16_t index = reader_u8(reader) % queue->size;
    uint64_t address;

    switch (reader_u8(reader) % 6) {
    case 0:
        address = read_address(reader);
        ring_describe(ring, index, address, reader_u16(reader) % 0x3ff, reader_u8(reader) & 3,
            reader_u8(reader) % queue->size);
        break;
    case 1:
        address = read_address(reader);
        ring_describe(
            ring, index, address, reader_u32(reader), reader_u16(reader), reader_u16(reader));
        break;
    case 2:
        ring_offer(ring, index);
        break;
    case 3:
        ring_offer(ring, reader_u16(reader));
        break;
    case 4:
        ring_set_avail_idx(ring, reader_u16(reader));
        break;
    default:
        pop_all(mem, queue);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guest_mem mem = GUEST_MEM_INIT;
    struct reader reader = reader_make(data, size);
    struct queue queue = QUEUE_INIT;
    struct driver_ring ring;
    struct err err = ERR_INIT;

    if (mem.region_count == 0)
        fake_ram_make(&mem);
    place_queue(&reader, &ring, &mem);
    if (queue_activate(&queue, &mem, &ring.registers, &err) < 0) {
        must(err_is_set(&err) && !queue.desc);
        return 0;
    }
    must(queue.size == ring.registers.raw_size);
    ring.size = queue.size;
    for (int i = 0; i < STEPS_MAX && reader.left > 0; i++)
        step(&reader, &mem, &ring, &queue);
    pop_all(&mem, &queue);
    return 0;
}
