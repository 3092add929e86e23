/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/*
 * vsock_fuzz.c: the input is what a guest and a session do by turns. Whatever that is, tables keep
 * their size, credit is never exceeded in either direction, and nothing rings itself for ever.
 */
#include <string.h>

#include "base/cursor.h"
#include "monitor/virtio/vsock.h"
#include "monitor/virtio/vsock_stream.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum {
    TX_GPA = 0x100000,
    RX_GPA = 0x300000,
    STEPS_MAX = 256,
    PORTS = 4, /* few, so that packets meet streams */
    QUEUE_SIZE = 32,
};

struct session {
    struct vsock_stream *streams[VSOCK_STREAMS_MAX];
    uint8_t mood; /* bits: what callbacks do */
};

static struct vsock_stream **session_slot(
    struct session *session, const struct vsock_stream *stream)
{
    size_t i = 0;

    while (i < VSOCK_STREAMS_MAX && session->streams[i] != stream)
        i++;
    must(i < VSOCK_STREAMS_MAX); /* else it is a stream that the session does not have */
    return &session->streams[i];
}

static bool session_accept(
    void *context, struct vsock_stream *stream, uint32_t host_port, uint32_t guest_port)
{
    struct session *session = context;

    (void)guest_port;
    if (host_port == 0)
        return false;
    *session_slot(session, NULL) = stream;
    if (session->mood & 1)
        (void)vsock_send(stream, "hello", 5);
    return true;
}

static void session_received(void *context, struct vsock_stream *stream)
{
    struct session *session = context;
    const uint8_t *bytes;

    must(*session_slot(session, stream) == stream);
    must(vsock_peek(stream, &bytes) > 0);
    if (session->mood & 2)
        vsock_consume(stream, vsock_peek(stream, &bytes));
    if (session->mood & 4)
        (void)vsock_send(stream, "echo", 4);
    if (session->mood & 8) {
        *session_slot(session, stream) = NULL;
        vsock_close(stream);
    }
}

static void session_writable(void *context, struct vsock_stream *stream)
{
    static const uint8_t bytes[VSOCK_SEND_BYTES];

    must(*session_slot(context, stream) == stream);
    must(vsock_send(stream, bytes, VSOCK_SEND_BYTES / 2) == VSOCK_SEND_BYTES / 2);
}

static void session_closed(void *context, struct vsock_stream *stream, uint32_t flags)
{
    struct session *session = context;
    struct vsock_stream **slot = session_slot(session, stream);

    must((flags & VSOCK_CLOSED_RULE) == 0 || (flags & VSOCK_CLOSED_GONE));
    must(!(flags & VSOCK_CLOSED_RULE) == (vsock_stream_fault(stream)[0] == '\0'));
    if ((session->mood & 16) && (flags & VSOCK_CLOSED_GONE)) {
        vsock_close(stream);
        *slot = NULL;
    }
    if ((session->mood & 32) && !(flags & VSOCK_CLOSED_GONE))
        vsock_shutdown(stream);
}

static const struct vsock_ops OPS = {
    .accept = session_accept,
    .received = session_received,
    .writable = session_writable,
    .closed = session_closed,
};

static void check(const struct vsock *vsock)
{
    must(vsock->reset_count <= VSOCK_RESETS_MAX);
    for (int i = 0; i < VSOCK_STREAMS_MAX; i++) {
        const struct vsock_stream *stream = &vsock->streams[i];

        if (stream->state == STREAM_FREE)
            continue;
        must(stream->in.used <= VSOCK_RECEIVE_BYTES && stream->out.used <= VSOCK_SEND_BYTES);
        must(stream->received_count - stream->consumed_count == stream->in.used);
        must(stream_granted(stream) <= ring_space(&stream->in));
    }
}

/* A packet of the guest: mostly one that makes sense, sometimes anything. */
static void send_packet(struct reader *reader, struct driver *driver, uint8_t knobs)
{
    uint64_t address = TX_GPA + 0x11000ULL * (driver->rings[1].avail_idx % 16);
    uint16_t slot = driver->rings[1].avail_idx % (QUEUE_SIZE / 2) * 2;
    uint32_t bytes = knobs & 1 ? reader_u16(reader) : reader_u8(reader);
    struct packet packet = {
        .raw_source_cid = 3,
        .raw_target_cid = 2,
        .raw_source_port = reader_u8(reader) % PORTS,
        .raw_target_port = reader_u8(reader) % PORTS,
        .raw_type = 1,
        .raw_op = reader_u8(reader) % 9,
        .raw_flags = reader_u8(reader),
        .raw_buffer_bytes = knobs & 2 ? reader_u32(reader) : 0x10000,
        .raw_consumed_count = knobs & 4 ? reader_u32(reader) : reader_u8(reader),
    };
    uint8_t *header = fake_ram_at(driver->mem, address, PACKET_HEADER_BYTES);
    uint32_t split = reader_u8(reader) % 80;

    if (packet.raw_op != PACKET_RW)
        bytes = 0;
    packet.raw_payload_bytes = knobs & 8 ? reader_u32(reader) : bytes;
    packet_encode(header, &packet);
    if (knobs & 16)
        reader_copy(reader, header, PACKET_HEADER_BYTES);
    bytes += knobs & 32 ? reader_u8(reader) % 44 : PACKET_HEADER_BYTES;
    if (split > 0 && split < bytes) {
        ring_describe(&driver->rings[1], slot, address, split, DESC_NEXT, (uint16_t)(slot + 1));
        ring_describe(
            &driver->rings[1], (uint16_t)(slot + 1), address + split, bytes - split, 0, 0);
    } else {
        ring_describe(&driver->rings[1], slot, address, bytes, 0, 0);
    }
    ring_offer(&driver->rings[1], slot);
}

/* What the guest finds in its buffers is well formed. */
static void take_packets(struct driver *driver)
{
    uint32_t slot, length;

    while (ring_take(&driver->rings[0], &slot, &length)) {
        struct packet packet;

        must(slot < QUEUE_SIZE && length != 1);
        if (length == 0)
            continue;
        must(length >= PACKET_HEADER_BYTES);
        packet = packet_decode(fake_ram_at(driver->mem, RX_GPA + 0x2000ULL * slot, 44));
        must(packet.raw_source_cid == 2 && packet.raw_target_cid == 3);
        must(packet.raw_payload_bytes == length - PACKET_HEADER_BYTES);
        must((packet.raw_op == PACKET_RW) == (packet.raw_payload_bytes > 0));
    }
}

static void offer_buffers(struct reader *reader, struct driver *driver, uint8_t count)
{
    for (int i = 0; i < count % 16; i++) {
        uint8_t size = reader_u8(reader);
        uint16_t slot = driver->rings[0].avail_idx % QUEUE_SIZE;

        if ((uint16_t)(driver->rings[0].avail_idx - driver->rings[0].used_idx) >= QUEUE_SIZE)
            return;
        ring_describe(&driver->rings[0], slot, RX_GPA + 0x2000ULL * slot,
            size < 16 ? size * 8 + 1 : 0x2000, DESC_WRITE, 0);
        ring_offer(&driver->rings[0], slot);
    }
}

static void session_step(struct reader *reader, struct session *session, uint8_t what)
{
    static const uint8_t bytes[VSOCK_SEND_BYTES + 1];
    struct vsock_stream **slot = &session->streams[what % VSOCK_STREAMS_MAX];
    const uint8_t *peeked;
    size_t count;

    if (!*slot)
        return;
    switch (reader_u8(reader) % 5) {
    case 0:
        (void)vsock_send(*slot, bytes, reader_u8(reader));
        break;
    case 1:
        (void)vsock_send(*slot, bytes, sizeof(bytes));
        break;
    case 2:
        count = vsock_peek(*slot, &peeked);
        vsock_consume(*slot, count > 0 ? reader_u16(reader) % (count + 1) : 0);
        break;
    case 3:
        vsock_shutdown(*slot);
        break;
    default:
        vsock_close(*slot);
        *slot = NULL;
        break;
    }
}

static void step(struct reader *reader, struct driver *driver, struct session *session)
{
    uint8_t kind = reader_u8(reader), knobs = reader_u8(reader);

    switch (kind % 8) {
    case 0:
    case 1:
    case 2:
        /* Never more than the queue holds: a ring that runs over is queue_fuzz.c's. */
        if ((uint16_t)(driver->rings[1].avail_idx - driver->rings[1].used_idx) < QUEUE_SIZE / 2)
            send_packet(reader, driver, kind & 128 ? knobs : knobs & 1);
        break;
    case 3:
        offer_buffers(reader, driver, knobs);
        break;
    case 4:
        session_step(reader, session, knobs);
        break;
    case 5:
        session->mood = knobs;
        break;
    case 6:
        if (knobs == 77)
            driver_start(driver, driver->device, driver->mem, 0, QUEUE_SIZE);
        break;
    default:
        driver_write(driver, REG_QUEUE_NOTIFY, knobs % 3);
        driver_settle(driver);
        break;
    }
}

/* Back to how it was made: to make one takes longer than most inputs. */
static void forget(struct vsock *vsock, struct driver *driver, struct session *session)
{
    session->mood = 0;
    driver_write(driver, REG_STATUS, 0);
    driver_settle(driver);
    for (size_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        if (session->streams[i])
            vsock_close(session->streams[i]);
        session->streams[i] = NULL;
        must(vsock->streams[i].state == STREAM_FREE);
    }
    must(vsock->reset_count == 0);
    vsock->reset_first = 0;
    vsock->turn = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guest_mem mem = GUEST_MEM_INIT;
    static struct session session;
    static struct vsock *vsock;
    struct reader reader = reader_make(data, size);
    struct driver driver;
    struct err err = ERR_INIT;

    if (!vsock) {
        fake_ram_make(&mem);
        vsock = vsock_make(3, &OPS, &session, &mem, &err);
    }
    must(vsock != NULL);
    driver_start(&driver, vsock_device(vsock), &mem, 0, QUEUE_SIZE);
    for (int i = 0; i < STEPS_MAX && reader.left > 0; i++) {
        uint32_t head, length;

        step(&reader, &driver, &session);
        take_packets(&driver);
        while (ring_take(&driver.rings[1], &head, &length))
            must(length == 0);
        check(vsock);
    }
    driver_write(&driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(&driver);
    check(vsock);
    forget(vsock, &driver, &session);
    return 0;
}
