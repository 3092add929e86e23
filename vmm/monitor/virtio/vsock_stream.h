/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsock_stream.h: what the files of the vsock device share; for them alone.
 *
 *     vsock.c           the device, and what the session calls
 *     vsock_stream.c    the life of one stream and its credit
 *     vsock_receive.c   packets of the guest (TX queue)
 *     vsock_transmit.c  packets to the guest (RX queue)
 *
 * Nothing here grows with what the guest does. What a live stream has to say is a flag or a byte in
 * its ring. Resets for streams that are not (or no longer) there are kept in a table of fixed size:
 * as long as it is full, no packet is taken from the TX queue. That cannot lock up: the table
 * empties as soon as the guest offers RX buffers, whose doorbell lets both directions go on; a
 * guest that offers none only keeps itself waiting.
 */
#ifndef VMM_MONITOR_VIRTIO_VSOCK_STREAM_H
#define VMM_MONITOR_VIRTIO_VSOCK_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/virtio/mmio.h"
#include "monitor/virtio/queue.h"
#include "monitor/virtio/ring.h"
#include "monitor/virtio/vsock.h"
#include "monitor/virtio/vsock_packet.h"

enum {
    VSOCK_QUEUE_RX = 0,    /* to the guest */
    VSOCK_QUEUE_TX = 1,    /* from the guest */
    VSOCK_QUEUE_COUNT = 3, /* the third is for events, of which there are none */

    VSOCK_BATCH_PACKETS = 64, /* per doorbell and direction */

    VSOCK_RESETS_GATE = 32, /* this many resets waiting: no more TX packets */
    /* A packet adds one at most; each stream that is live when the gate closes may add another. */
    VSOCK_RESETS_MAX = VSOCK_RESETS_GATE + VSOCK_STREAMS_MAX,
};

enum stream_state {
    STREAM_FREE = 0,
    STREAM_ANSWERING, /* accepted; the guest has not got RESPONSE */
    STREAM_OPEN,
    STREAM_GONE, /* for the guest it is over; the session has not closed it */
};

struct vsock_stream {
    struct vsock *vsock;
    enum stream_state state;
    uint32_t guest_port;
    uint32_t host_port;
    uint32_t closed;   /* enum vsock_closed */
    const char *fault; /* NULL: no rule was broken */

    /* Guest to host. Counts run freely and wrap, as on the wire. */
    struct ring in;
    uint32_t received_count;
    uint32_t consumed_count; /* fwd_cnt */
    uint32_t told_count;     /* the fwd_cnt that the guest was told last */
    bool credit_due;         /* a CREDIT_UPDATE is to be sent */

    /* Host to guest. */
    struct ring out;
    uint32_t sent_count;
    uint32_t peer_consumed_count; /* between the last value and sent_count */
    uint32_t peer_buffer_bytes;   /* a claim; only ever a limit on what we send */
    bool credit_asked;            /* CREDIT_REQUEST was sent, no credit came since */
    bool shutdown_wanted;
    bool shutdown_sent;
    bool writable_wanted;

    uint8_t in_bytes[VSOCK_RECEIVE_BYTES];
    uint8_t out_bytes[VSOCK_SEND_BYTES];
};

struct vsock_reset {
    uint32_t guest_port;
    uint32_t host_port;
    uint16_t type;
};

struct vsock {
    struct mmio_device device;
    const struct vsock_ops *ops;
    void *context;
    uint32_t guest_cid;
    bool processing; /* inside process(): it will look at what there is to send */
    bool wanted;     /* something to send came up since it looked */
    uint32_t turn;   /* the stream that may send next */
    uint32_t reset_first;
    uint32_t reset_count;
    struct vsock_reset resets[VSOCK_RESETS_MAX]; /* a ring */
    struct queue_chain chain;                    /* the packet at hand */
    struct vsock_stream streams[VSOCK_STREAMS_MAX];
};

/* See to it that vsock_transmit() runs soon. */
void vsock_want(struct vsock *vsock);

/* Queue a RST; there is room for it by the rule at the top. */
void vsock_add_reset(struct vsock *vsock, uint32_t guest_port, uint32_t host_port, uint16_t type);

/* Take packets from the TX queue. Returns 1 when there are more, 0, or -1 (a broken rule). */
int vsock_receive(struct vsock *vsock, struct err *err);

/* Put packets into the RX queue. Returns as above. */
int vsock_transmit(struct vsock *vsock, struct err *err);

/* A free slot, made new for a connection, or NULL. */
struct vsock_stream *stream_open(struct vsock *vsock, uint32_t guest_port, uint32_t host_port);

/* The guest knows this stream. */
bool stream_is_live(const struct vsock_stream *stream);

/* The live stream with these ports, or NULL. */
struct vsock_stream *stream_find(struct vsock *vsock, uint32_t guest_port, uint32_t host_port);

/* It is over for the guest, without a RST from us; FAULT (static) or NULL. Calls closed(). */
void stream_gone(struct vsock_stream *stream, const char *fault);

/* The same, and the guest gets a RST. */
void stream_reset(struct vsock_stream *stream, const char *fault);

/* Neither side will send any more. */
bool stream_is_over(const struct vsock_stream *stream);

/* Take over what the guest says about its buffer. Returns the rule that it broke, or NULL. */
const char *stream_take_credit(struct vsock_stream *stream, const struct packet *packet);

/* Bytes that the guest has room for, by its own claim. */
uint32_t stream_peer_free(const struct vsock_stream *stream);

/* Bytes that the guest may still send by what we told it. */
uint32_t stream_granted(const struct vsock_stream *stream);

#endif
