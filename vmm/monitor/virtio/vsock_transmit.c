/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsock_transmit.c: packets to the guest (monitor; virtio 1.2 §5.10.6). The buffers are the
 * guest's.
 *
 * What to send is chosen before a buffer is taken, so a buffer is never taken for nothing. Resets
 * come first; then every stream sends one packet in turn, so that none starves the others.
 */
#include "monitor/virtio/vsock_stream.h"

#include <stddef.h>

#include "base/num.h"
#include "wire/wire.h"

/* One packet that could go out now. */
struct outgoing {
    struct vsock_stream *stream; /* NULL: the first reset of the table */
    uint16_t op;
    uint32_t payload_bytes; /* at most; at least one when it is not zero */
};

/* What STREAM has to say most urgently; false when nothing. */
static bool transmit_choose_for(struct vsock_stream *stream, struct outgoing *out)
{
    uint32_t payload = (uint32_t)u64_min(
        stream->out.used, u64_min(stream_peer_free(stream), PACKET_PAYLOAD_MAX_BYTES));

    *out = (struct outgoing){.stream = stream};
    if (stream->state == STREAM_ANSWERING) {
        out->op = PACKET_RESPONSE;
        return true;
    }
    if (stream->state != STREAM_OPEN)
        return false;
    out->payload_bytes = payload;
    if (payload > 0)
        out->op = PACKET_RW;
    else if (stream->out.used > 0 && !stream->credit_asked)
        out->op = PACKET_CREDIT_REQUEST; /* once: then it is the guest's turn */
    else if (stream->shutdown_wanted && !stream->shutdown_sent && stream->out.used == 0)
        out->op = PACKET_SHUTDOWN;
    else if (stream->credit_due)
        out->op = PACKET_CREDIT_UPDATE;
    return out->op != 0;
}

static bool transmit_choose(struct vsock *vsock, struct outgoing *out)
{
    if (vsock->reset_count > 0) {
        *out = (struct outgoing){.op = PACKET_RST};
        return true;
    }
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        if (transmit_choose_for(&vsock->streams[(vsock->turn + i) % VSOCK_STREAMS_MAX], out))
            return true;
    }
    return false;
}

/* Fill the chain at hand; returns the bytes written. */
static uint32_t transmit_reset(struct vsock *vsock)
{
    const struct vsock_reset reset = vsock->resets[vsock->reset_first];
    const struct packet packet = {
        .raw_source_cid = WIRE_HOST_CID,
        .raw_target_cid = vsock->guest_cid,
        .raw_source_port = reset.host_port,
        .raw_target_port = reset.guest_port,
        .raw_type = reset.type,
        .raw_op = PACKET_RST,
    };
    uint8_t header[PACKET_HEADER_BYTES];

    vsock->reset_first = (vsock->reset_first + 1) % VSOCK_RESETS_MAX;
    vsock->reset_count--;
    packet_encode(header, &packet);
    queue_chain_put(&vsock->chain, 0, header, sizeof(header));
    return sizeof(header);
}

static void transmit_payload(struct vsock *vsock, struct vsock_stream *stream, uint32_t bytes)
{
    struct ring_piece pieces[2];

    ring_used_pieces(&stream->out, bytes, pieces);
    queue_chain_put(&vsock->chain, PACKET_HEADER_BYTES, pieces[0].bytes, pieces[0].size);
    queue_chain_put(
        &vsock->chain, PACKET_HEADER_BYTES + pieces[0].size, pieces[1].bytes, pieces[1].size);
    ring_drop(&stream->out, bytes);
    stream->sent_count += bytes;
}

static uint32_t transmit_stream(struct vsock *vsock, const struct outgoing *out)
{
    struct vsock_stream *stream = out->stream;
    uint32_t room = vsock->chain.writable_bytes - PACKET_HEADER_BYTES;
    uint32_t payload = (uint32_t)u64_min(out->payload_bytes, room);
    const struct packet packet = {
        .raw_source_cid = WIRE_HOST_CID,
        .raw_target_cid = vsock->guest_cid,
        .raw_source_port = stream->host_port,
        .raw_target_port = stream->guest_port,
        .raw_payload_bytes = payload,
        .raw_type = PACKET_STREAM,
        .raw_op = out->op,
        .raw_flags = out->op == PACKET_SHUTDOWN ? PACKET_SHUTDOWN_SEND : 0,
        .raw_buffer_bytes = stream->in.size,
        .raw_consumed_count = stream->consumed_count,
    };
    uint8_t header[PACKET_HEADER_BYTES];

    packet_encode(header, &packet);
    queue_chain_put(&vsock->chain, 0, header, sizeof(header));
    transmit_payload(vsock, stream, payload);
    stream->told_count = stream->consumed_count;
    stream->credit_due = false;
    if (out->op == PACKET_RESPONSE)
        stream->state = STREAM_OPEN;
    if (out->op == PACKET_CREDIT_REQUEST)
        stream->credit_asked = true;
    if (out->op == PACKET_SHUTDOWN)
        stream->shutdown_sent = true;
    vsock->turn = (uint32_t)(stream - vsock->streams + 1) % VSOCK_STREAMS_MAX;
    return PACKET_HEADER_BYTES + payload;
}

int vsock_transmit(struct vsock *vsock, struct err *err)
{
    struct queue *queue = mmio_queue(&vsock->device, VSOCK_QUEUE_RX);
    struct outgoing out;

    for (uint32_t i = 0; i < VSOCK_BATCH_PACKETS; i++) {
        uint32_t needed, written = 0;
        int popped;

        if (!transmit_choose(vsock, &out))
            return 0;
        popped = queue_pop(queue, &vsock->chain, err);
        if (popped < 0)
            return err_wrap(err, "RX queue");
        if (popped == 0)
            return 0; /* the doorbell of new buffers lets it go on */
        needed = PACKET_HEADER_BYTES + (out.payload_bytes > 0 ? 1 : 0);
        /* A buffer that is too small goes back empty, and the packet waits for the next. */
        if (vsock->chain.writable_bytes >= needed)
            written = out.stream ? transmit_stream(vsock, &out) : transmit_reset(vsock);
        queue_push(queue, &vsock->chain, written);
        if (written > 0 && out.op == PACKET_SHUTDOWN && stream_is_over(out.stream))
            stream_reset(out.stream, NULL);
    }
    return transmit_choose(vsock, &out) && queue_has_work(queue);
}
