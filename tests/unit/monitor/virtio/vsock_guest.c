/* SPDX-License-Identifier: Apache-2.0 */
/* vsock_guest.c: see vsock_guest.h. */
#include "tests/unit/monitor/virtio/vsock_guest.h"

#include <string.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/fake_ram.h"
#include "tests/unit/unit.h"

enum { RX = 0, TX = 1 };

struct told *guest_told(struct guest *guest, const struct vsock_stream *stream)
{
    for (size_t i = 1; i <= VSOCK_STREAMS_MAX; i++) {
        if (guest->told[i].stream == stream)
            return &guest->told[i];
    }
    fail_msg("a stream that the session does not know");
    return NULL;
}

static bool session_accept(
    void *context, struct vsock_stream *stream, uint32_t host_port, uint32_t guest_port)
{
    struct guest *guest = context;
    struct told *told;

    guest->accepts++;
    if (host_port == REFUSED_PORT)
        return false;
    told = guest_told(guest, NULL);
    *told = (struct told){.stream = stream, .host_port = host_port, .guest_port = guest_port};
    return true;
}

static void session_received(void *context, struct vsock_stream *stream)
{
    struct guest *guest = context;
    const uint8_t *bytes;
    size_t count;

    guest_told(guest, stream)->received++;
    assert_true(vsock_peek(stream, &bytes) > 0);
    while (guest->drain && (count = vsock_peek(stream, &bytes)) > 0) {
        guest->drained += count;
        vsock_consume(stream, count);
    }
}

static void session_writable(void *context, struct vsock_stream *stream)
{
    guest_told(context, stream)->writable++;
}

static void session_closed(void *context, struct vsock_stream *stream, uint32_t flags)
{
    struct guest *guest = context;
    struct told *told = guest_told(guest, stream);

    assert_int_equal(told->closed & ~flags, 0); /* they only add up */
    told->closed = flags;
    told->closes++;
    if (guest->close_gone && (flags & VSOCK_CLOSED_GONE)) {
        vsock_close(stream);
        told->stream = NULL;
    }
}

static const struct vsock_ops session_ops = {
    .accept = session_accept,
    .received = session_received,
    .writable = session_writable,
    .closed = session_closed,
};

void guest_make(struct guest *guest)
{
    struct err err = ERR_INIT;

    memset(guest, 0, sizeof(*guest));
    fake_ram_make(&guest->mem);
    guest->vsock = vsock_make(GUEST_CID, &session_ops, guest, &guest->mem, &err);
    assert_non_null(guest->vsock);
    guest_start(guest);
}

void guest_free(struct guest *guest)
{
    vsock_free(guest->vsock);
    fake_ram_free(&guest->mem);
}

void guest_start(struct guest *guest)
{
    driver_start(&guest->driver, vsock_device(guest->vsock), &guest->mem, 0, GUEST_QUEUE_SIZE);
    assert_int_equal(driver_read(&guest->driver, REG_STATUS), RUNNING);
    guest->rx_next = 0;
}

static void guest_ring(struct guest *guest, uint32_t queue)
{
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, queue);
    driver_settle(&guest->driver);
}

void guest_offer(struct guest *guest, uint32_t count)
{
    struct driver_ring *ring = &guest->driver.rings[RX];

    for (uint32_t i = 0; i < count; i++) {
        uint16_t slot = guest->rx_next++ % GUEST_QUEUE_SIZE;

        ring_describe(ring, slot, GUEST_RX_GPA + (uint64_t)GUEST_RX_SLOT_BYTES * slot,
            GUEST_RX_SLOT_BYTES, DESC_WRITE, 0);
        ring_offer(ring, slot);
    }
    guest_ring(guest, RX);
}

struct packet guest_packet(uint32_t guest_port, uint32_t host_port, uint16_t op)
{
    return (struct packet){
        .raw_source_cid = GUEST_CID,
        .raw_target_cid = HOST_CID,
        .raw_source_port = guest_port,
        .raw_target_port = host_port,
        .raw_type = PACKET_STREAM,
        .raw_op = op,
        .raw_buffer_bytes = 1 << 18,
    };
}

void guest_queue(
    struct guest *guest, const struct packet *packet, const void *payload, uint32_t payload_bytes)
{
    uint16_t slot = (uint16_t)(guest->tx_next++ % GUEST_TX_SLOTS);
    uint64_t address = GUEST_TX_GPA + (uint64_t)GUEST_TX_SLOT_BYTES * slot;
    uint8_t *bytes = fake_ram_at(&guest->mem, address, GUEST_TX_SLOT_BYTES);

    assert_true(PACKET_HEADER_BYTES + payload_bytes <= GUEST_TX_SLOT_BYTES);
    packet_encode(bytes, packet);
    if (payload)
        memcpy(bytes + PACKET_HEADER_BYTES, payload, payload_bytes);
    else
        memset(bytes + PACKET_HEADER_BYTES, 0, payload_bytes);
    ring_describe(
        &guest->driver.rings[TX], slot, address, PACKET_HEADER_BYTES + payload_bytes, 0, 0);
    ring_offer(&guest->driver.rings[TX], slot);
}

void guest_send(
    struct guest *guest, const struct packet *packet, const void *payload, uint32_t payload_bytes)
{
    uint32_t head, length;

    guest_queue(guest, packet, payload, payload_bytes);
    guest_ring(guest, TX);
    while (ring_take(&guest->driver.rings[TX], &head, &length))
        assert_int_equal(length, 0);
}

void guest_send_raw(struct guest *guest, const void *bytes, const uint32_t *sizes)
{
    struct driver_ring *ring = &guest->driver.rings[TX];
    const uint8_t *at = bytes;
    uint32_t head, length;

    for (uint16_t i = 0; sizes[i] != 0; i++) {
        uint64_t address = GUEST_TX_GPA + 0x8000ULL * i;

        memcpy(fake_ram_at(&guest->mem, address, sizes[i]), at, sizes[i]);
        at += sizes[i];
        ring_describe(ring, i, address, sizes[i], sizes[i + 1] ? DESC_NEXT : 0, (uint16_t)(i + 1));
    }
    ring_offer(ring, 0);
    guest_ring(guest, TX);
    while (ring_take(ring, &head, &length))
        assert_int_equal(length, 0);
}

bool guest_receive(struct guest *guest)
{
    const uint8_t *bytes;
    uint32_t slot;

    if (!ring_take(&guest->driver.rings[RX], &slot, &guest->used_bytes))
        return false;
    bytes = fake_ram_at(
        &guest->mem, GUEST_RX_GPA + (uint64_t)GUEST_RX_SLOT_BYTES * slot, GUEST_RX_SLOT_BYTES);
    guest->got = packet_decode(bytes);
    if (guest->used_bytes == 0)
        return true; /* a buffer that came back unused */
    assert_int_equal(guest->used_bytes, PACKET_HEADER_BYTES + guest->got.raw_payload_bytes);
    memcpy(guest->payload, bytes + PACKET_HEADER_BYTES, guest->got.raw_payload_bytes);
    assert_int_equal(guest->got.raw_source_cid, HOST_CID);
    assert_int_equal(guest->got.raw_target_cid, GUEST_CID);
    return true;
}

void guest_expect(struct guest *guest, uint32_t guest_port, uint32_t host_port, uint16_t op)
{
    assert_true(guest_receive(guest));
    assert_int_equal(guest->got.raw_op, op);
    assert_int_equal(guest->got.raw_source_port, host_port);
    assert_int_equal(guest->got.raw_target_port, guest_port);
}

void guest_expect_nothing(struct guest *guest)
{
    assert_false(guest_receive(guest));
}

struct told *guest_connect(
    struct guest *guest, uint32_t guest_port, uint32_t host_port, uint32_t buffer_bytes)
{
    struct packet request = guest_packet(guest_port, host_port, PACKET_REQUEST);

    request.raw_buffer_bytes = buffer_bytes;
    guest_offer(guest, 1);
    guest_send(guest, &request, NULL, 0);
    guest_expect(guest, guest_port, host_port, PACKET_RESPONSE);
    assert_int_equal(guest->got.raw_type, PACKET_STREAM);
    assert_int_equal(guest->got.raw_buffer_bytes, VSOCK_RECEIVE_BYTES);
    assert_int_equal(guest->got.raw_consumed_count, 0);
    for (size_t i = 1; i <= VSOCK_STREAMS_MAX; i++) {
        struct told *told = &guest->told[i];

        if (told->stream && told->guest_port == guest_port && told->host_port == host_port)
            return told;
    }
    fail_msg("the session was not asked");
    return NULL;
}

void guest_write(struct guest *guest, const struct told *told, const void *bytes, uint32_t size)
{
    struct packet packet = guest_packet(told->guest_port, told->host_port, PACKET_RW);

    packet.raw_payload_bytes = size;
    guest_send(guest, &packet, bytes, size);
}

void guest_fill(struct guest *guest, const struct told *told, uint32_t size)
{
    for (uint32_t step; size > 0; size -= step) {
        step = size < PACKET_PAYLOAD_MAX_BYTES ? size : PACKET_PAYLOAD_MAX_BYTES;
        guest_write(guest, told, NULL, step);
    }
}

void guest_credit(
    struct guest *guest, const struct told *told, uint32_t buffer_bytes, uint32_t consumed)
{
    struct packet packet = guest_packet(told->guest_port, told->host_port, PACKET_CREDIT_UPDATE);

    packet.raw_buffer_bytes = buffer_bytes;
    packet.raw_consumed_count = consumed;
    guest_send(guest, &packet, NULL, 0);
}

int guest_set_up(void **state)
{
    static struct guest guest;

    guest_make(&guest);
    *state = &guest;
    return 0;
}

int guest_tear_down(void **state)
{
    guest_free(*state);
    return 0;
}
