/* SPDX-License-Identifier: Apache-2.0 */
/* vsock.h: a driver of virtio-vsock (virtio 1.2 §5.10) that sends what it is told to. */
#ifndef TESTS_GUEST_LIB_VSOCK_H
#define TESTS_GUEST_LIB_VSOCK_H

#include "lib/virtq.h"

enum {
    VSOCK_RX = 0,
    VSOCK_TX = 1,
    VSOCK_EVENT = 2,
    VSOCK_QUEUE_SIZE = 64,
    VSOCK_HEADER_BYTES = 44,
    VSOCK_BUFFER_BYTES = 4096, /* each of those that the device fills */

    VSOCK_HOST = 2,
    VSOCK_SELF = 3,
    VSOCK_STREAM = 1,

    OP_REQUEST = 1,
    OP_RESPONSE = 2,
    OP_RST = 3,
    OP_SHUTDOWN = 4,
    OP_RW = 5,
    OP_CREDIT_UPDATE = 6,
    OP_CREDIT_REQUEST = 7,
};

struct vsock_header {
    uint64_t src_cid, dst_cid;
    uint32_t src_port, dst_port;
    uint32_t bytes;
    uint16_t type, op;
    uint32_t flags, buf_alloc, fwd_cnt;
} __attribute__((packed));

_Static_assert(sizeof(struct vsock_header) == VSOCK_HEADER_BYTES, "the layout of §5.10.6");

struct vsock_packet {
    struct vsock_header header;
    uint8_t payload[VSOCK_BUFFER_BYTES - VSOCK_HEADER_BYTES];
};

struct vsock {
    struct device device;
    struct virtq rx, tx, event;
    unsigned buffers; /* what is given back to the device after it was read; 0: nothing */
};

extern struct vsock vsock;

/* Reset and start the device, with BUFFERS of 4 KiB in the RX queue. */
void vsock_up(unsigned buffers);
/* Offer buffer INDEX, BYTES of it. */
void vsock_offer_buffer(unsigned index, uint32_t bytes);

/* A packet from GUEST_PORT to HOST_PORT as it should be. */
struct vsock_header vsock_header(uint32_t guest_port, uint32_t host_port, uint16_t op);

/* Offer one packet without a kick: the next vsock_send() kicks for both. */
void vsock_put(const struct vsock_header *header, const void *payload, uint32_t bytes);
/* The same, kick, and wait until the device has taken all. */
bool vsock_send(const struct vsock_header *header, const void *payload, uint32_t bytes);

/* The next packet of the host; false when none comes. */
bool vsock_receive(struct vsock_packet *packet);

#endif
