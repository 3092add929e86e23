/* SPDX-License-Identifier: Apache-2.0 */
/* vsock.c: see vsock.h. */
#include "lib/vsock.h"

enum { TX_SLOTS = VSOCK_QUEUE_SIZE / 2 };

struct vsock vsock;

static struct virtq_rings rx_rings, tx_rings, event_rings;
static uint8_t buffers[VSOCK_QUEUE_SIZE][VSOCK_BUFFER_BYTES] __attribute__((aligned(4096)));
static struct vsock_header headers[TX_SLOTS];
static unsigned slot;

void vsock_offer_buffer(unsigned index, uint32_t bytes)
{
    virtq_desc(&vsock.rx, (uint16_t)index, (uint64_t)buffers[index], bytes, DESC_WRITE, 0);
    virtq_offer(&vsock.rx, (uint16_t)index);
}

void vsock_up(unsigned count)
{
    vsock.device = device_find(ID_VSOCK, 0);
    vsock.buffers = count;
    slot = 0;
    device_negotiate(&vsock.device, F_VERSION_1);
    vsock.rx = virtq_make(&vsock.device, VSOCK_RX, VSOCK_QUEUE_SIZE, &rx_rings);
    vsock.tx = virtq_make(&vsock.device, VSOCK_TX, VSOCK_QUEUE_SIZE, &tx_rings);
    vsock.event = virtq_make(&vsock.device, VSOCK_EVENT, VSOCK_QUEUE_SIZE, &event_rings);
    virtq_register(&vsock.rx);
    virtq_register(&vsock.tx);
    virtq_register(&vsock.event);
    status_add(&vsock.device, STATUS_DRIVER_OK);
    for (unsigned i = 0; i < count; i++)
        vsock_offer_buffer(i, VSOCK_BUFFER_BYTES);
    virtq_kick(&vsock.rx);
}

struct vsock_header vsock_header(uint32_t guest_port, uint32_t host_port, uint16_t op)
{
    return (struct vsock_header){
        .src_cid = VSOCK_SELF,
        .dst_cid = VSOCK_HOST,
        .src_port = guest_port,
        .dst_port = host_port,
        .type = VSOCK_STREAM,
        .op = op,
        .buf_alloc = 64 * KIB,
    };
}

void vsock_put(const struct vsock_header *header, const void *payload, uint32_t bytes)
{
    uint16_t at = (uint16_t)(2 * slot);

    headers[slot] = *header;
    virtq_desc(&vsock.tx, at, (uint64_t)&headers[slot], VSOCK_HEADER_BYTES,
        bytes > 0 ? DESC_NEXT : 0, at + 1);
    virtq_desc(&vsock.tx, at + 1, (uint64_t)payload, bytes, 0, 0);
    virtq_offer(&vsock.tx, at);
    slot = (slot + 1) % TX_SLOTS;
}

bool vsock_send(const struct vsock_header *header, const void *payload, uint32_t bytes)
{
    uint32_t id, length;

    vsock_put(header, payload, bytes);
    virtq_kick(&vsock.tx);
    while (vsock.tx.seen != vsock.tx.rings->avail_idx) {
        if (!virtq_take(&vsock.tx, &id, &length))
            return false;
    }
    return true;
}

bool vsock_receive(struct vsock_packet *packet)
{
    uint32_t id, bytes;

    if (!virtq_take(&vsock.rx, &id, &bytes))
        return false;
    memcpy(packet, buffers[id], bytes);
    if (vsock.buffers > 0) {
        vsock_offer_buffer(id, VSOCK_BUFFER_BYTES);
        virtq_kick(&vsock.rx);
    }
    return true;
}
