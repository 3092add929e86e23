/* SPDX-License-Identifier: Apache-2.0 */
/* vsock_receive.c: packets of the guest (monitor; input: the guest's; virtio 1.2 §5.10.6). */
#include "monitor/virtio/vsock_stream.h"

#include <assert.h>
#include <stddef.h>

#include "wire/wire.h"

static_assert((int)PACKET_SHUTDOWN_RECEIVE == (int)VSOCK_CLOSED_RECEIVE, "the flags are the same");
static_assert((int)PACKET_SHUTDOWN_SEND == (int)VSOCK_CLOSED_SEND, "the flags are the same");

/* What is wrong with the packet by itself, or NULL. */
static const char *packet_fault(const struct queue_chain *chain, const struct packet *packet)
{
    if (packet->raw_type != PACKET_STREAM)
        return "the type of a packet is not STREAM";
    if (packet->raw_op < PACKET_REQUEST || packet->raw_op > PACKET_CREDIT_REQUEST)
        return "the operation of a packet is unknown";
    if (packet->raw_op != PACKET_RW && packet->raw_payload_bytes != 0)
        return "a packet other than RW has a payload";
    if (packet->raw_payload_bytes > PACKET_PAYLOAD_MAX_BYTES)
        return "the payload of a packet is longer than 64 KiB";
    if (packet->raw_payload_bytes > chain->readable_bytes - PACKET_HEADER_BYTES)
        return "the payload of a packet is longer than its buffers";
    return NULL;
}

/* REQUEST: the session says who is let in. */
static void receive_request(struct vsock *vsock, const struct packet *packet)
{
    uint32_t guest_port = packet->raw_source_port, host_port = packet->raw_target_port;
    struct vsock_stream *stream = stream_open(vsock, guest_port, host_port);

    if (stream) {
        stream->peer_buffer_bytes = packet->raw_buffer_bytes;
        if (vsock->ops->accept(vsock->context, stream, host_port, guest_port))
            return;
        stream->state = STREAM_FREE;
    }
    vsock_add_reset(vsock, guest_port, host_port, PACKET_STREAM);
}

/* A packet for no stream. A RST is never answered, or two sides could do so for ever. */
static void receive_stray(struct vsock *vsock, const struct packet *packet, const char *fault)
{
    if (packet->raw_op == PACKET_RST)
        return;
    if (!fault && packet->raw_op == PACKET_REQUEST)
        receive_request(vsock, packet);
    else
        vsock_add_reset(vsock, packet->raw_source_port, packet->raw_target_port, packet->raw_type);
}

static const char *receive_data(struct vsock *vsock, struct vsock_stream *stream, uint32_t bytes)
{
    struct ring_piece pieces[2];

    if (stream->state != STREAM_OPEN)
        return "data before the connection is open";
    if (stream->closed & VSOCK_CLOSED_SEND)
        return "data after SHUTDOWN";
    if (bytes > stream_granted(stream))
        return "more data than there was credit for";
    if (bytes == 0)
        return NULL;
    /* What was granted is not more than what is free: told_count is not ahead of consumed_count. */
    ring_space_pieces(&stream->in, bytes, pieces);
    queue_chain_take(&vsock->chain, PACKET_HEADER_BYTES, pieces[0].bytes, pieces[0].size);
    queue_chain_take(
        &vsock->chain, PACKET_HEADER_BYTES + pieces[0].size, pieces[1].bytes, pieces[1].size);
    ring_grow(&stream->in, bytes);
    stream->received_count += bytes;
    vsock->ops->received(vsock->context, stream);
    return NULL;
}

static void receive_shutdown(struct vsock *vsock, struct vsock_stream *stream, uint32_t raw_flags)
{
    uint32_t flags = raw_flags & (PACKET_SHUTDOWN_RECEIVE | PACKET_SHUTDOWN_SEND);

    if ((flags & ~stream->closed) == 0)
        return;
    stream->closed |= flags;
    if (stream->closed & VSOCK_CLOSED_RECEIVE) {
        ring_drop(&stream->out, stream->out.used);
        stream->writable_wanted = false;
    }
    if (stream_is_over(stream))
        stream_reset(stream, NULL);
    else
        vsock->ops->closed(vsock->context, stream, stream->closed);
}

/* Returns the rule that was broken, or NULL. STREAM may be the session's no longer afterwards. */
static const char *receive_for_stream(
    struct vsock *vsock, struct vsock_stream *stream, const struct packet *packet)
{
    const char *fault = stream_take_credit(stream, packet);

    if (fault)
        return fault;
    switch (packet->raw_op) {
    case PACKET_REQUEST:
        return NULL; /* a duplicate must not touch the connection that is there */
    case PACKET_RST:
        stream_gone(stream, NULL);
        return NULL;
    case PACKET_SHUTDOWN:
        receive_shutdown(vsock, stream, packet->raw_flags);
        return NULL;
    case PACKET_RW:
        return receive_data(vsock, stream, packet->raw_payload_bytes);
    case PACKET_CREDIT_UPDATE:
        return NULL;
    case PACKET_CREDIT_REQUEST:
        stream->credit_due = true;
        return NULL;
    default:
        return "RESPONSE without a REQUEST";
    }
}

static void receive_packet(struct vsock *vsock)
{
    uint8_t header[PACKET_HEADER_BYTES];
    struct vsock_stream *stream;
    struct packet packet;
    const char *fault;

    if (!queue_chain_read(&vsock->chain, 0, header, sizeof(header)))
        return; /* no header: nobody to answer */
    packet = packet_decode(header);
    /* Another CID than its own or ours: there is nobody behind it. */
    if (packet.raw_source_cid != vsock->guest_cid || packet.raw_target_cid != WIRE_HOST_CID)
        return;
    fault = packet_fault(&vsock->chain, &packet);
    stream = stream_find(vsock, packet.raw_source_port, packet.raw_target_port);
    if (!stream) {
        receive_stray(vsock, &packet, fault);
        return;
    }
    if (!fault)
        fault = receive_for_stream(vsock, stream, &packet);
    if (fault)
        stream_reset(stream, fault);
}

int vsock_receive(struct vsock *vsock, struct err *err)
{
    struct queue *queue = mmio_queue(&vsock->device, VSOCK_QUEUE_TX);

    for (uint32_t i = 0; i < VSOCK_BATCH_PACKETS; i++) {
        int popped;

        if (vsock->reset_count >= VSOCK_RESETS_GATE)
            return 0; /* vsock_process() comes back once there is room */
        popped = queue_pop(queue, &vsock->chain, err);
        if (popped < 0)
            return err_wrap(err, "TX queue");
        if (popped == 0)
            return 0;
        receive_packet(vsock);
        queue_push(queue, &vsock->chain, 0);
    }
    return queue_has_work(queue);
}
