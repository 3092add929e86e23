/* SPDX-License-Identifier: Apache-2.0 */
/* mmio_describe.c: what a device of a hanging guest looks like (monitor). See mmio.h. */
#include <stdio.h>
#include <string.h>

#include "monitor/virtio/mmio.h"

/* Append what is open in one queue. */
static void describe_queue(const struct mmio_queue *queue, uint32_t index, char *text, size_t size)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "; queue %u: %u waiting, %u taken, %u given back", index,
        queue_waiting(&queue->queue), queue->queue.next_avail, queue->queue.next_used);
}

void mmio_describe(struct mmio_device *device, char *text, size_t size)
{
    unsigned int interrupt;

    text[0] = '\0';
    pthread_mutex_lock(&device->lock);
    interrupt = atomic_load(&device->interrupt_status);
    if (device->status != 0)
        snprintf(text, size, "%s: status 0x%x, interrupt %s", device->model.name, device->status,
            interrupt ? "not acknowledged" : "acknowledged");
    for (uint32_t i = 0; i < device->model.ops->queue_count && text[0]; i++) {
        if (device->queues[i].queue.desc)
            describe_queue(&device->queues[i], i, text, size);
    }
    pthread_mutex_unlock(&device->lock);
}
