/* SPDX-License-Identifier: Apache-2.0 */
/* vsock_stream.c: the life of one stream and its credit (monitor; input: checked packets). */
#include "monitor/virtio/vsock_stream.h"

#include <stddef.h>

struct vsock_stream *stream_open(struct vsock *vsock, uint32_t guest_port, uint32_t host_port)
{
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        struct vsock_stream *stream = &vsock->streams[i];

        if (stream->state != STREAM_FREE)
            continue;
        stream->vsock = vsock;
        stream->state = STREAM_ANSWERING;
        stream->guest_port = guest_port;
        stream->host_port = host_port;
        stream->closed = 0;
        stream->fault = NULL;
        stream->in = ring_make(stream->in_bytes, sizeof(stream->in_bytes));
        stream->received_count = 0;
        stream->consumed_count = 0;
        stream->told_count = 0;
        stream->credit_due = false;
        stream->out = ring_make(stream->out_bytes, sizeof(stream->out_bytes));
        stream->sent_count = 0;
        stream->peer_consumed_count = 0;
        stream->peer_buffer_bytes = 0;
        stream->credit_asked = false;
        stream->shutdown_wanted = false;
        stream->shutdown_sent = false;
        stream->writable_wanted = false;
        return stream;
    }
    return NULL;
}

bool stream_is_live(const struct vsock_stream *stream)
{
    return stream->state == STREAM_ANSWERING || stream->state == STREAM_OPEN;
}

struct vsock_stream *stream_find(struct vsock *vsock, uint32_t guest_port, uint32_t host_port)
{
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        struct vsock_stream *stream = &vsock->streams[i];

        if (stream_is_live(stream) && stream->guest_port == guest_port &&
            stream->host_port == host_port)
            return stream;
    }
    return NULL;
}

void stream_gone(struct vsock_stream *stream, const char *fault)
{
    struct vsock *vsock = stream->vsock;

    must(stream_is_live(stream));
    stream->state = STREAM_GONE;
    stream->fault = fault;
    stream->closed |= VSOCK_CLOSED_RECEIVE | VSOCK_CLOSED_SEND | VSOCK_CLOSED_GONE;
    if (fault)
        stream->closed |= VSOCK_CLOSED_RULE;
    ring_drop(&stream->out, stream->out.used);
    stream->writable_wanted = false;
    vsock->ops->closed(vsock->context, stream, stream->closed);
}

void stream_reset(struct vsock_stream *stream, const char *fault)
{
    vsock_add_reset(stream->vsock, stream->guest_port, stream->host_port, PACKET_STREAM);
    stream_gone(stream, fault);
}

bool stream_is_over(const struct vsock_stream *stream)
{
    return (stream->closed & VSOCK_CLOSED_SEND) &&
           (stream->shutdown_sent || (stream->closed & VSOCK_CLOSED_RECEIVE));
}

/*
 * Counts wrap, so they are compared by their distance to what was sent. A guest that claims to have
 * consumed what was never sent breaks a rule. One that goes back is ignored: two of its threads may
 * have queued their packets in the other order.
 */
const char *stream_take_credit(struct vsock_stream *stream, const struct packet *packet)
{
    uint32_t claimed_in_flight = stream->sent_count - packet->raw_consumed_count;
    uint32_t in_flight = stream->sent_count - stream->peer_consumed_count;

    if (claimed_in_flight > INT32_MAX)
        return "fwd_cnt counts bytes that were never sent";
    if (claimed_in_flight < in_flight)
        stream->peer_consumed_count = packet->raw_consumed_count;
    stream->peer_buffer_bytes = packet->raw_buffer_bytes;
    if (stream_peer_free(stream) > 0)
        stream->credit_asked = false;
    return NULL;
}

uint32_t stream_peer_free(const struct vsock_stream *stream)
{
    uint32_t in_flight = stream->sent_count - stream->peer_consumed_count;

    /* Saturates: a guest may make its buffer smaller than what is under way. */
    return in_flight >= stream->peer_buffer_bytes ? 0 : stream->peer_buffer_bytes - in_flight;
}

uint32_t stream_granted(const struct vsock_stream *stream)
{
    uint32_t outstanding = stream->received_count - stream->told_count;

    must(outstanding <= stream->in.size);
    return stream->in.size - outstanding;
}
