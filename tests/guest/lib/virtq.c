/* SPDX-License-Identifier: Apache-2.0 */
/* virtq.c: see virtq.h. */
#include "lib/virtq.h"

struct virtq virtq_make(
    const struct device *device, uint32_t index, uint16_t size, struct virtq_rings *rings)
{
    memset(rings, 0, sizeof(*rings));
    return (struct virtq){.device = device, .index = index, .size = size, .rings = rings};
}

void virtq_write_place(const struct virtq *queue, uint32_t reg, uint64_t gpa)
{
    reg_write(queue->device, REG_QUEUE_SELECT, queue->index);
    reg_write(queue->device, reg, (uint32_t)gpa);
    reg_write(queue->device, reg + 4, (uint32_t)(gpa >> 32));
}

void virtq_register(const struct virtq *queue)
{
    volatile struct virtq_rings *rings = queue->rings;

    reg_write(queue->device, REG_QUEUE_SELECT, queue->index);
    reg_write(queue->device, REG_QUEUE_SIZE, queue->size);
    virtq_write_place(queue, REG_QUEUE_DESC, (uint64_t)rings->desc);
    virtq_write_place(queue, REG_QUEUE_AVAIL, (uint64_t)&rings->avail_flags);
    virtq_write_place(queue, REG_QUEUE_USED, (uint64_t)&rings->used);
    reg_write(queue->device, REG_QUEUE_READY, 1);
}

void virtq_desc(const struct virtq *queue, uint16_t index, uint64_t gpa, uint32_t bytes,
    uint16_t flags, uint16_t next)
{
    volatile struct virtq_desc *desc = &queue->rings->desc[index];

    desc->gpa = gpa;
    desc->bytes = bytes;
    desc->flags = flags;
    desc->next = next;
}

void virtq_offer(const struct virtq *queue, uint16_t head)
{
    volatile struct virtq_rings *rings = queue->rings;

    rings->avail_ring[rings->avail_idx % queue->size] = head;
    barrier(); /* the entry before the index; x86 keeps stores in order */
    rings->avail_idx++;
}

void virtq_kick(const struct virtq *queue)
{
    full_barrier();
    reg_write(queue->device, REG_QUEUE_NOTIFY, queue->index);
}

bool virtq_take(struct virtq *queue, uint32_t *id, uint32_t *bytes)
{
    volatile struct virtq_rings *rings = queue->rings;

    for (unsigned i = 0; rings->used.idx == queue->seen; i++) {
        if (i == PATIENCE)
            return false;
        breathe();
    }
    barrier();
    *id = rings->used.ring[queue->seen % queue->size].id;
    *bytes = rings->used.ring[queue->seen % queue->size].bytes;
    queue->seen++;
    return true;
}
