/* SPDX-License-Identifier: Apache-2.0 */
/* vsock.c: the vsock device, and what the session calls (monitor). See vsock.h, vsock_stream.h. */
#include "monitor/virtio/vsock.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "monitor/virtio/vsock_stream.h"

void vsock_want(struct vsock *vsock)
{
    /* Once is enough: `wanted` stays until process() runs, which an activation sees to as well. */
    if (!vsock->wanted && !vsock->processing)
        mmio_wake(&vsock->device);
    vsock->wanted = true;
}

void vsock_add_reset(struct vsock *vsock, uint32_t guest_port, uint32_t host_port, uint16_t type)
{
    uint32_t last = (vsock->reset_first + vsock->reset_count) % VSOCK_RESETS_MAX;

    must(vsock->reset_count < VSOCK_RESETS_MAX);
    vsock->resets[last] = (struct vsock_reset){
        .guest_port = guest_port,
        .host_port = host_port,
        .type = type,
    };
    vsock->reset_count++;
    vsock_want(vsock);
}

static void vsock_tell_writable(struct vsock *vsock)
{
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        struct vsock_stream *stream = &vsock->streams[i];

        /* Half of the ring, so that the session is not called for a few bytes each time. */
        if (!stream->writable_wanted || ring_space(&stream->out) < stream->out.size / 2)
            continue;
        stream->writable_wanted = false;
        vsock->ops->writable(vsock->context, stream);
    }
}

/* Either doorbell lets both directions go on: each may be waiting for the other. */
static int vsock_process(void *context, struct mmio_device *device, struct err *err)
{
    struct vsock *vsock = context;
    struct queue *tx = mmio_queue(device, VSOCK_QUEUE_TX);
    int received, transmitted = 0;
    bool reopened;

    vsock->processing = true;
    received = vsock_receive(vsock, err);
    vsock->wanted = false;
    if (received >= 0)
        transmitted = vsock_transmit(vsock, err);
    if (received >= 0 && transmitted >= 0)
        vsock_tell_writable(vsock);
    vsock->processing = false;
    if (received < 0 || transmitted < 0)
        return -1;
    reopened = vsock->reset_count < VSOCK_RESETS_GATE && queue_has_work(tx);
    return received || transmitted || reopened || vsock->wanted;
}

/* The driver forgot everything; what the session has not read yet it may still read. */
static void vsock_reset(void *context)
{
    struct vsock *vsock = context;

    vsock->reset_count = 0;
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        if (stream_is_live(&vsock->streams[i]))
            stream_gone(&vsock->streams[i], "the driver reset the device");
    }
}

static const struct virtio_ops vsock_virtio_ops = {
    .device_id = VIRTIO_ID_VSOCK,
    .queue_count = VSOCK_QUEUE_COUNT,
    .reset = vsock_reset,
    .process = vsock_process,
};

struct vsock *vsock_make(uint32_t guest_cid, const struct vsock_ops *ops, void *context,
    const struct guest_mem *mem, struct err *err)
{
    struct vsock *vsock = calloc(1, sizeof(*vsock));
    struct virtio_model model = {.ops = &vsock_virtio_ops, .context = vsock, .name = "vsock"};

    if (!vsock) {
        (void)err_sys(err, "vsock: cannot allocate %zu bytes", sizeof(*vsock));
        return NULL;
    }
    vsock->ops = ops;
    vsock->context = context;
    vsock->guest_cid = guest_cid;
    model.config_bytes = sizeof(uint64_t); /* §5.10.4: guest_cid */
    le64_store(model.config, guest_cid);
    if (mmio_init(&vsock->device, &model, mem, err) < 0) {
        free(vsock);
        return NULL;
    }
    return vsock;
}

void vsock_free(struct vsock *vsock)
{
    if (!vsock)
        return;
    mmio_fini(&vsock->device);
    free(vsock);
}

struct mmio_device *vsock_device(struct vsock *vsock)
{
    return &vsock->device;
}

size_t vsock_peek(const struct vsock_stream *stream, const uint8_t **bytes)
{
    struct ring_piece pieces[2];

    ring_used_pieces(&stream->in, stream->in.used, pieces);
    *bytes = pieces[0].bytes;
    return pieces[0].size;
}

void vsock_consume(struct vsock_stream *stream, size_t count)
{
    must(count <= stream->in.used);
    ring_drop(&stream->in, (uint32_t)count);
    stream->consumed_count += (uint32_t)count;
    /* A guest without credit gets it back at half of the buffer: as it may have filled all of it,
     * and all of it is consumed some time, it never waits for ever. */
    if (stream->state == STREAM_OPEN &&
        stream->consumed_count - stream->told_count >= stream->in.size / 2) {
        stream->credit_due = true;
        vsock_want(stream->vsock);
    }
}

size_t vsock_send(struct vsock_stream *stream, const void *bytes, size_t size)
{
    uint32_t taken = (uint32_t)u64_min(size, ring_space(&stream->out));
    struct ring_piece pieces[2];

    if (!stream_is_live(stream) || stream->shutdown_wanted ||
        (stream->closed & VSOCK_CLOSED_RECEIVE))
        return 0;
    stream->writable_wanted = taken < size;
    if (taken == 0)
        return 0;
    ring_space_pieces(&stream->out, taken, pieces);
    memcpy(pieces[0].bytes, bytes, pieces[0].size);
    if (pieces[1].size > 0)
        memcpy(pieces[1].bytes, (const uint8_t *)bytes + pieces[0].size, pieces[1].size);
    ring_grow(&stream->out, taken);
    vsock_want(stream->vsock);
    return taken;
}

void vsock_shutdown(struct vsock_stream *stream)
{
    if (!stream_is_live(stream) || stream->shutdown_wanted)
        return;
    stream->shutdown_wanted = true;
    stream->writable_wanted = false;
    vsock_want(stream->vsock);
}

void vsock_close(struct vsock_stream *stream)
{
    bool live = stream_is_live(stream);

    must(stream->state != STREAM_FREE);
    stream->state = STREAM_FREE;
    stream->writable_wanted = false;
    if (live)
        vsock_add_reset(stream->vsock, stream->guest_port, stream->host_port, PACKET_STREAM);
}

const char *vsock_stream_fault(const struct vsock_stream *stream)
{
    return stream->fault ? stream->fault : "";
}
