/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/vsock_guest.c */
/* vsock_credit_test.c: credit and buffers in both directions: exact, bounded, no lies believed. */
#include "monitor/virtio/vsock.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "monitor/virtio/vsock_stream.h"
#include "tests/unit/monitor/virtio/vsock_guest.h"

enum { PORT = 700, SERVICE = 2, RX_PAYLOAD = GUEST_RX_SLOT_BYTES - PACKET_HEADER_BYTES };

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 17 + (at >> 16));
}

/* ---- guest to host ---- */

static void the_guest_may_fill_the_buffer_and_no_more(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    guest_offer(guest, 4);
    guest_fill(guest, told, VSOCK_RECEIVE_BYTES - 1);
    assert_int_equal(told->received, VSOCK_RECEIVE_BYTES / 65536);
    guest_write(guest, told, NULL, 1);
    assert_int_equal(told->closes, 0);
    assert_int_equal(told->received, VSOCK_RECEIVE_BYTES / 65536 + 1);
    guest_expect_nothing(guest);
    guest_write(guest, told, NULL, 1);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    assert_true(told->closed & VSOCK_CLOSED_RULE);
    assert_string_equal(vsock_stream_fault(told->stream), "more data than there was credit for");
}

/* What was consumed counts for the guest once it was told, not before. */
static void credit_is_what_the_guest_was_told(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    const uint8_t *bytes;

    guest_fill(guest, told, VSOCK_RECEIVE_BYTES);
    vsock_consume(told->stream, vsock_peek(told->stream, &bytes));
    driver_settle(&guest->driver); /* no RX buffer: the guest is not told */
    guest_write(guest, told, NULL, 1);
    guest_offer(guest, 1);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    assert_true(told->closed & VSOCK_CLOSED_RULE);
}

static void credit_comes_back_at_half(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    guest_offer(guest, 4);
    guest_fill(guest, told, VSOCK_RECEIVE_BYTES);
    vsock_consume(told->stream, VSOCK_RECEIVE_BYTES / 2 - 1);
    driver_settle(&guest->driver);
    guest_expect_nothing(guest);
    vsock_consume(told->stream, 1);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_UPDATE);
    assert_int_equal(guest->got.raw_buffer_bytes, VSOCK_RECEIVE_BYTES);
    assert_int_equal(guest->got.raw_consumed_count, VSOCK_RECEIVE_BYTES / 2);
    guest_expect_nothing(guest);
    guest_write(guest, told, NULL, 65536);
    assert_int_equal(told->closes, 0);
}

static void a_credit_request_is_answered(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_CREDIT_REQUEST);

    guest_offer(guest, 4);
    guest_write(guest, told, NULL, 100);
    vsock_consume(told->stream, 60);
    guest_send(guest, &packet, NULL, 0);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_UPDATE);
    assert_int_equal(guest->got.raw_consumed_count, 60);
    guest_expect_nothing(guest);
}

/* A flood that is consumed at once goes on for ever in the same memory, byte by byte. */
static void a_long_flood_arrives_exactly(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    uint8_t *out = test_malloc(65536);
    uint64_t sent = 0, read = 0;
    uint32_t free_bytes = VSOCK_RECEIVE_BYTES, size = 1;

    guest_offer(guest, 32);
    while (sent < (4 << 20)) {
        const uint8_t *bytes;
        size_t count;

        size = (size * 7 + 13) % 65536 + 1;
        if (size > free_bytes)
            size = free_bytes;
        for (uint32_t i = 0; i < size; i++)
            out[i] = byte_at(sent + i);
        guest_write(guest, told, out, size);
        sent += size;
        count = vsock_peek(told->stream, &bytes);
        count -= count > 5 ? count / 5 : 0; /* some stays, so that the ring turns */
        for (size_t i = 0; i < count; i++)
            assert_int_equal(bytes[i], byte_at(read + i));
        vsock_consume(told->stream, count);
        read += count;
        driver_settle(&guest->driver);
        while (guest_receive(guest)) {
            assert_int_equal(guest->got.raw_op, PACKET_CREDIT_UPDATE);
            assert_int_equal(guest->got.raw_consumed_count, (uint32_t)read);
            guest_offer(guest, 1);
        }
        free_bytes = VSOCK_RECEIVE_BYTES - (uint32_t)(sent - guest->got.raw_consumed_count);
        assert_int_equal(told->closes, 0);
    }
    test_free(out);
}

static void counts_wrap(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct vsock_stream *stream = told->stream;

    stream->received_count = stream->consumed_count = stream->told_count = UINT32_MAX - 10;
    stream->sent_count = stream->peer_consumed_count = UINT32_MAX - 10;
    guest_offer(guest, 8);
    guest_credit(guest, told, 100, UINT32_MAX - 10);
    assert_int_equal(vsock_send(stream, "abcdefghijklmnopqrstuvwxyz", 26), 26);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_int_equal(guest->got.raw_payload_bytes, 26);
    assert_int_equal(stream->sent_count, 15);
    guest_credit(guest, told, 100, 15);
    assert_int_equal(stream_peer_free(stream), 100);
}

/* ---- host to guest ---- */

static void data_waits_for_buffers(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    assert_int_equal(vsock_send(told->stream, "pending", 7), 7);
    driver_settle(&guest->driver);
    guest_expect_nothing(guest);
    guest_offer(guest, 1);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "pending", 7);
}

static void a_buffer_is_not_taken_for_nothing(void **state)
{
    struct guest *guest = *state;

    (void)guest_connect(guest, PORT, SERVICE, 1 << 16);
    guest_offer(guest, 8);
    guest_offer(guest, 8);
    guest_expect_nothing(guest);
}

/* One RX buffer of SIZE bytes, in two descriptors when it can be. */
static void offer_small(struct guest *guest, uint32_t size)
{
    struct driver_ring *ring = &guest->driver.rings[0];

    ring_describe(ring, 0, GUEST_RX_GPA, 1, (uint16_t)(DESC_WRITE | (size > 1 ? DESC_NEXT : 0)), 1);
    if (size > 1)
        ring_describe(ring, 1, GUEST_RX_GPA + 1, size - 1, DESC_WRITE, 0);
    ring_offer(ring, 0);
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(&guest->driver);
}

static void buffers_that_are_too_small_come_back(void **state)
{
    static const uint32_t sizes[] = {1, 2, 43, 44};
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    assert_int_equal(vsock_send(told->stream, "xyz", 3), 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        offer_small(guest, sizes[i]);
        assert_true(guest_receive(guest));
        assert_int_equal(guest->used_bytes, 0);
    }
    offer_small(guest, 45);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "x", 1);
    offer_small(guest, 46);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "yz", 2);
    /* A reset needs the header only. */
    vsock_close(told->stream);
    offer_small(guest, 43);
    assert_true(guest_receive(guest));
    assert_int_equal(guest->used_bytes, 0);
    offer_small(guest, 44);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
}

static void the_peers_buffer_is_a_limit(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 10);

    guest_offer(guest, 16);
    assert_int_equal(vsock_send(told->stream, "0123456789ABCDEF", 16), 16);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_int_equal(guest->got.raw_payload_bytes, 10);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_REQUEST);
    guest_expect_nothing(guest);
    /* Once, whatever happens, until credit comes. */
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(&guest->driver);
    guest_credit(guest, told, 10, 0);
    assert_int_equal(vsock_send(told->stream, "G", 1), 1);
    driver_settle(&guest->driver);
    guest_expect_nothing(guest);
    guest_credit(guest, told, 10, 1);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_int_equal(guest->got.raw_payload_bytes, 1);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_REQUEST);
    guest_credit(guest, told, UINT32_MAX, 11);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "BCDEFG", 6);
    guest_expect_nothing(guest);
}

/* The class of CVE-2026-23069: a buffer that shrinks must not become endless credit. */
static void a_buffer_that_shrinks_gives_no_credit(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 100);

    guest_offer(guest, 16);
    assert_int_equal(vsock_send(told->stream, "0123456789", 10), 10);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    for (uint32_t size = 0; size <= 10; size++) {
        guest_credit(guest, told, size, 0);
        assert_int_equal(stream_peer_free(told->stream), 0);
    }
    assert_int_equal(vsock_send(told->stream, "x", 1), 1);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_REQUEST);
    guest_expect_nothing(guest);
    guest_credit(guest, told, 11, 0);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    guest_expect_nothing(guest);
}

static void lies_about_consumption_end_the_stream(void **state)
{
    static const uint32_t lies[] = {11, 12, 0x7fffffff, 10U + 0x80000000U};
    struct guest *guest = *state;

    for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct told *told = guest_connect(guest, PORT + i, SERVICE, 100);

        guest_offer(guest, 4);
        assert_int_equal(vsock_send(told->stream, "0123456789", 10), 10);
        driver_settle(&guest->driver);
        guest_expect(guest, PORT + i, SERVICE, PACKET_RW);
        guest_credit(guest, told, 100, lies[i]);
        guest_expect(guest, PORT + i, SERVICE, PACKET_RST);
        assert_string_equal(
            vsock_stream_fault(told->stream), "fwd_cnt counts bytes that were never sent");
        while (guest_receive(guest))
            ;
    }
}

static void consumption_does_not_go_back(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 100);

    guest_offer(guest, 4);
    assert_int_equal(vsock_send(told->stream, "0123456789", 10), 10);
    driver_settle(&guest->driver);
    guest_credit(guest, told, 100, 8);
    assert_int_equal(stream_peer_free(told->stream), 98);
    guest_credit(guest, told, 100, 3); /* an older packet that was overtaken */
    assert_int_equal(stream_peer_free(told->stream), 98);
    guest_credit(guest, told, 100, 0x80000010); /* nonsense, but not ahead: ignored as well */
    assert_int_equal(stream_peer_free(told->stream), 98);
    assert_int_equal(told->closes, 0);
}

/* buf_alloc of 4 GiB sizes nothing here: the ring is what there is. */
static void the_send_buffer_is_fixed(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, UINT32_MAX);
    uint8_t *bytes = test_malloc(VSOCK_SEND_BYTES + 1);

    memset(bytes, 5, VSOCK_SEND_BYTES + 1);
    assert_int_equal(vsock_send(told->stream, bytes, VSOCK_SEND_BYTES + 1), VSOCK_SEND_BYTES);
    assert_int_equal(vsock_send(told->stream, bytes, 1), 0);
    driver_settle(&guest->driver);
    assert_int_equal(told->writable, 0);
    guest_offer(guest, 1);
    assert_int_equal(told->writable, 0); /* not for every packet */
    while (told->writable == 0) {
        guest_expect(guest, PORT, SERVICE, PACKET_RW);
        assert_int_equal(guest->got.raw_payload_bytes, RX_PAYLOAD);
        guest_offer(guest, 1);
    }
    assert_true(ring_space(&told->stream->out) >= VSOCK_SEND_BYTES / 2);
    guest_offer(guest, 16);
    assert_int_equal(told->writable, 1); /* told once; it has not asked again */
    test_free(bytes);
}

static void a_long_send_arrives_exactly(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 50000);
    uint8_t *out = test_malloc(100000);
    uint64_t sent = 0, got = 0, total = 4 << 20;
    uint32_t size = 1;

    guest_offer(guest, 32);
    while (got < total) {
        size = (size * 11 + 7) % 100000;
        for (uint32_t i = 0; i < size; i++)
            out[i] = byte_at(sent + i);
        sent += vsock_send(told->stream, out, size);
        driver_settle(&guest->driver);
        while (guest_receive(guest)) {
            if (guest->got.raw_op == PACKET_RW) {
                for (uint32_t i = 0; i < guest->got.raw_payload_bytes; i++)
                    assert_int_equal(guest->payload[i], byte_at(got + i));
                got += guest->got.raw_payload_bytes;
            } else {
                assert_int_equal(guest->got.raw_op, PACKET_CREDIT_REQUEST);
            }
            guest_offer(guest, 1);
        }
        guest_credit(guest, told, 50000, (uint32_t)got);
    }
    assert_int_equal(told->closes, 0);
    test_free(out);
}

#define VSOCK_TEST(name) cmocka_unit_test_setup_teardown(name, guest_set_up, guest_tear_down)

static const struct CMUnitTest tests[] = {
    VSOCK_TEST(the_guest_may_fill_the_buffer_and_no_more),
    VSOCK_TEST(credit_is_what_the_guest_was_told),
    VSOCK_TEST(credit_comes_back_at_half),
    VSOCK_TEST(a_credit_request_is_answered),
    VSOCK_TEST(a_long_flood_arrives_exactly),
    VSOCK_TEST(counts_wrap),
    VSOCK_TEST(data_waits_for_buffers),
    VSOCK_TEST(a_buffer_is_not_taken_for_nothing),
    VSOCK_TEST(buffers_that_are_too_small_come_back),
    VSOCK_TEST(the_peers_buffer_is_a_limit),
    VSOCK_TEST(a_buffer_that_shrinks_gives_no_credit),
    VSOCK_TEST(lies_about_consumption_end_the_stream),
    VSOCK_TEST(consumption_does_not_go_back),
    VSOCK_TEST(the_send_buffer_is_fixed),
    VSOCK_TEST(a_long_send_arrives_exactly),
};

UNIT_MAIN(tests)
