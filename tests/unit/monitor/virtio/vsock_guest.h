/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsock_guest.h: a guest that speaks vsock, and a session that writes down what it is told, for
 * tests. The guest keeps no rules.
 */
#ifndef TESTS_UNIT_MONITOR_VIRTIO_VSOCK_GUEST_H
#define TESTS_UNIT_MONITOR_VIRTIO_VSOCK_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/virtio/vsock.h"
#include "monitor/virtio/vsock_packet.h"
#include "tests/unit/monitor/virtio/driver.h"

enum {
    GUEST_CID = 3,
    HOST_CID = 2,

    GUEST_QUEUE_SIZE = 64,
    GUEST_TX_GPA = 0x100000, /* descriptor N at N * 64 KiB + 4 KiB is the buffer of slot N */
    GUEST_TX_SLOT_BYTES = 0x11000,
    GUEST_TX_SLOTS = 16,
    GUEST_RX_GPA = 0x300000,
    GUEST_RX_SLOT_BYTES = 0x1000, /* as Linux from 6.3 on: one page, header included */

    REFUSED_PORT = 99,
};

/* What the session was told last about one stream. */
struct told {
    struct vsock_stream *stream; /* NULL: free */
    uint32_t host_port;
    uint32_t guest_port;
    uint32_t received; /* times */
    uint32_t writable; /* times */
    uint32_t closed;   /* flags */
    uint32_t closes;   /* times */
};

struct guest {
    struct guest_mem mem;
    struct vsock *vsock;
    struct driver driver;
    uint32_t tx_next;
    uint16_t rx_next;
    struct told told[VSOCK_STREAMS_MAX + 1]; /* [0] is never used */
    uint32_t accepts;
    bool drain;      /* consume at once what comes in */
    bool close_gone; /* close a stream when it is gone */
    uint64_t drained;
    /* The packet that guest_receive() got. */
    struct packet got;
    uint8_t payload[PACKET_PAYLOAD_MAX_BYTES];
    uint32_t used_bytes;
};

/* A started device; no RX buffers yet. */
void guest_make(struct guest *guest);
void guest_free(struct guest *guest);
void guest_start(struct guest *guest);
/* For cmocka: one of them is the state of a test. */
int guest_set_up(void **state);
int guest_tear_down(void **state);

/* Offer COUNT RX buffers of one page, and ring. */
void guest_offer(struct guest *guest, uint32_t count);

/* A packet to the host with good CIDs and type; change it before guest_send(). */
struct packet guest_packet(uint32_t guest_port, uint32_t host_port, uint16_t op);
/* Send PACKET and PAYLOAD_BYTES of PAYLOAD (NULL: zeroes) as one descriptor; settle. */
void guest_send(
    struct guest *guest, const struct packet *packet, const void *payload, uint32_t payload_bytes);
/* The same without ringing: packets pile up in the TX queue. */
void guest_queue(
    struct guest *guest, const struct packet *packet, const void *payload, uint32_t payload_bytes);
/* Bytes as they are, in descriptors of the given sizes (0 ends the list); settle. */
void guest_send_raw(struct guest *guest, const void *bytes, const uint32_t *sizes);

/* Take the next packet from the host into `got`; false when there is none. */
bool guest_receive(struct guest *guest);
/* The next packet must be OP for these ports. */
void guest_expect(struct guest *guest, uint32_t guest_port, uint32_t host_port, uint16_t op);
void guest_expect_nothing(struct guest *guest);

/* REQUEST from GUEST_PORT to HOST_PORT with BUFFER_BYTES of credit, answered; what was told about
 * it. */
struct told *guest_connect(
    struct guest *guest, uint32_t guest_port, uint32_t host_port, uint32_t buffer_bytes);
/* RW with a payload of SIZE. */
void guest_write(struct guest *guest, const struct told *told, const void *bytes, uint32_t size);
/* SIZE bytes in the largest packets. */
void guest_fill(struct guest *guest, const struct told *told, uint32_t size);
/* CREDIT_UPDATE with these values. */
void guest_credit(
    struct guest *guest, const struct told *told, uint32_t buffer_bytes, uint32_t consumed);

struct told *guest_told(struct guest *guest, const struct vsock_stream *stream);

#endif
