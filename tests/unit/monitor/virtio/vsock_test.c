/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/vsock_guest.c */
/* vsock_test.c: connections: who gets one, what ends one, what must not touch one. */
#include "monitor/virtio/vsock.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/fake_ram.h"
#include "tests/unit/monitor/virtio/vsock_guest.h"

enum { PORT = 700, SERVICE = 2, ALL_CLOSED = VSOCK_CLOSED_RECEIVE | VSOCK_CLOSED_SEND };

static void the_cid_is_in_the_configuration_space(void **state)
{
    struct guest *guest = *state;
    uint8_t bytes[8];

    mmio_read(guest->driver.device, REG_CONFIG, bytes, 8);
    assert_int_equal(le64_load(bytes), GUEST_CID);
    assert_int_equal(driver_read(&guest->driver, REG_CONFIG), GUEST_CID);
    assert_int_equal(driver_read(&guest->driver, REG_CONFIG + 4), 0);
    assert_int_equal(driver_read(&guest->driver, REG_DEVICE_ID), 19);
    /* SEQPACKET is not offered. */
    driver_write(&guest->driver, REG_DEVICE_FEATURES_SEL, 0);
    assert_int_equal(driver_read(&guest->driver, REG_DEVICE_FEATURES), 0);
}

static void bytes_arrive_in_both_directions(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 18);
    const uint8_t *bytes;

    guest_write(guest, told, "hello", 5);
    assert_int_equal(told->received, 1);
    assert_int_equal(vsock_peek(told->stream, &bytes), 5);
    assert_memory_equal(bytes, "hello", 5);
    vsock_consume(told->stream, 2);
    assert_int_equal(vsock_peek(told->stream, &bytes), 3);
    assert_memory_equal(bytes, "llo", 3);
    guest_expect_nothing(guest);

    guest_offer(guest, 1);
    assert_int_equal(vsock_send(told->stream, "world!", 6), 6);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_int_equal(guest->got.raw_payload_bytes, 6);
    assert_memory_equal(guest->payload, "world!", 6);
    assert_int_equal(guest->got.raw_consumed_count, 2); /* credit rides along */
    guest_expect_nothing(guest);
}

static void a_refused_port_is_reset(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT, REFUSED_PORT, PACKET_REQUEST);

    guest_offer(guest, 4);
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(guest->accepts, 1);
    guest_expect(guest, PORT, REFUSED_PORT, PACKET_RST);
    guest_expect_nothing(guest);
}

static void packets_for_no_stream_are_reset(void **state)
{
    struct guest *guest = *state;

    guest_offer(guest, 32);
    for (uint16_t op = 0; op <= 9; op++) {
        struct packet packet = guest_packet(PORT, SERVICE, op);

        if (op == PACKET_REQUEST)
            continue;
        guest_send(guest, &packet, NULL, 0);
        if (op == PACKET_RST)
            guest_expect_nothing(guest); /* or the two would go on for ever */
        else
            guest_expect(guest, PORT, SERVICE, PACKET_RST);
    }
    assert_int_equal(guest->accepts, 0);
}

static void other_cids_are_ignored(void **state)
{
    static const uint64_t cids[] = {0, 1, 4, UINT32_MAX, UINT64_MAX, 1ULL << 32 | GUEST_CID,
        1ULL << 32 | HOST_CID, 1ULL << 63 | HOST_CID};
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 4096);

    guest_offer(guest, 32);
    for (size_t i = 0; i < sizeof(cids) / sizeof(cids[0]); i++) {
        for (uint16_t op = PACKET_REQUEST; op <= PACKET_CREDIT_REQUEST; op++) {
            struct packet packet = guest_packet(PORT, SERVICE, op);

            packet.raw_source_cid = cids[i];
            guest_send(guest, &packet, NULL, 0);
            packet = guest_packet(PORT, SERVICE, op);
            packet.raw_target_cid = cids[i];
            guest_send(guest, &packet, NULL, 0);
        }
    }
    guest_expect_nothing(guest);
    assert_int_equal(guest->accepts, 1);
    assert_int_equal(told->closes, 0);
}

static void other_types_are_reset(void **state)
{
    static const uint16_t types[] = {0, 2, 3, 0xffff};
    struct guest *guest = *state;

    guest_offer(guest, 8);
    for (size_t i = 0; i < 4; i++) {
        struct packet packet = guest_packet(PORT, SERVICE, PACKET_REQUEST);

        packet.raw_type = types[i];
        guest_send(guest, &packet, NULL, 0);
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
        assert_int_equal(guest->got.raw_type, types[i]);
    }
    assert_int_equal(guest->accepts, 0);
}

static void a_duplicate_request_changes_nothing(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 4096);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_REQUEST);
    const uint8_t *bytes;

    guest_write(guest, told, "abc", 3);
    guest_offer(guest, 4);
    guest_send(guest, &packet, NULL, 0);
    guest_expect_nothing(guest);
    assert_int_equal(guest->accepts, 1);
    assert_int_equal(told->closes, 0);
    guest_write(guest, told, "def", 3);
    assert_int_equal(vsock_peek(told->stream, &bytes), 6);
    assert_memory_equal(bytes, "abcdef", 6);
}

static void eight_streams_and_no_more(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT + VSOCK_STREAMS_MAX, SERVICE, PACKET_REQUEST);
    struct told *told[VSOCK_STREAMS_MAX];
    uint8_t byte;

    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++)
        told[i] = guest_connect(guest, PORT + i, SERVICE, 4096);
    guest_offer(guest, 2);
    guest_send(guest, &packet, NULL, 0);
    guest_expect(guest, PORT + VSOCK_STREAMS_MAX, SERVICE, PACKET_RST);
    assert_int_equal(guest->accepts, VSOCK_STREAMS_MAX);
    /* Each is itself. */
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++) {
        const uint8_t *bytes;

        byte = (uint8_t)i;
        guest_write(guest, told[i], &byte, 1);
        assert_int_equal(vsock_peek(told[i]->stream, &bytes), 1);
        assert_int_equal(bytes[0], i);
    }
    /* A stream that is gone is the session's until it closes it. */
    packet = guest_packet(PORT, SERVICE, PACKET_RST);
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(told[0]->closed, ALL_CLOSED | VSOCK_CLOSED_GONE);
    packet = guest_packet(PORT, SERVICE, PACKET_REQUEST);
    guest_send(guest, &packet, NULL, 0);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    vsock_close(told[0]->stream);
    told[0]->stream = NULL;
    told[0] = guest_connect(guest, PORT, SERVICE, 4096);
    assert_int_equal(told[0]->closed, 0);
}

static void a_reset_by_the_guest(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_RST);
    const uint8_t *bytes;

    guest_write(guest, told, "rest", 4);
    assert_int_equal(vsock_send(told->stream, "lost", 4), 4);
    guest_send(guest, &packet, NULL, 0);
    guest_offer(guest, 4);
    guest_expect_nothing(guest); /* a reset is not answered */
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE);
    assert_string_equal(vsock_stream_fault(told->stream), "");
    /* What came before is still there; nothing more goes out. */
    assert_int_equal(vsock_peek(told->stream, &bytes), 4);
    vsock_consume(told->stream, 4);
    assert_int_equal(vsock_send(told->stream, "x", 1), 0);
    vsock_shutdown(told->stream);
    vsock_close(told->stream);
    driver_settle(&guest->driver);
    guest_expect_nothing(guest);
}

static void a_reset_by_the_session(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    guest_offer(guest, 4);
    vsock_close(told->stream);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    assert_int_equal(told->closes, 0);
    guest_write(guest, told, "x", 1); /* it crossed the reset on its way */
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    guest_expect_nothing(guest);
}

static void a_half_close_by_the_guest(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);
    const uint8_t *bytes;

    guest_offer(guest, 4);
    guest_write(guest, told, "question", 8);
    packet.raw_flags = PACKET_SHUTDOWN_SEND;
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(told->closed, VSOCK_CLOSED_SEND);
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(told->closes, 1); /* told once */
    assert_int_equal(vsock_peek(told->stream, &bytes), 8);
    vsock_consume(told->stream, 8);
    assert_int_equal(vsock_send(told->stream, "answer", 6), 6);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "answer", 6);
    vsock_shutdown(told->stream);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_SHUTDOWN);
    assert_int_equal(guest->got.raw_flags, PACKET_SHUTDOWN_SEND);
    guest_expect(guest, PORT, SERVICE, PACKET_RST); /* both directions are done */
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE);
}

static void a_half_close_by_the_session(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 4);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);
    const uint8_t *bytes;

    guest_offer(guest, 8);
    assert_int_equal(vsock_send(told->stream, "123456", 6), 6);
    vsock_shutdown(told->stream);
    assert_int_equal(vsock_send(told->stream, "7", 1), 0);
    driver_settle(&guest->driver);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_int_equal(guest->got.raw_payload_bytes, 4);
    guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_REQUEST);
    guest_expect_nothing(guest); /* the end of file waits for the rest */
    guest_credit(guest, told, 4, 4);
    guest_expect(guest, PORT, SERVICE, PACKET_RW);
    assert_memory_equal(guest->payload, "56", 2);
    guest_expect(guest, PORT, SERVICE, PACKET_SHUTDOWN);
    /* The other direction is still open. */
    guest_write(guest, told, "more", 4);
    assert_int_equal(vsock_peek(told->stream, &bytes), 4);
    assert_int_equal(told->closes, 0);
    packet.raw_flags = PACKET_SHUTDOWN_SEND;
    guest_send(guest, &packet, NULL, 0);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE);
    assert_int_equal(vsock_peek(told->stream, &bytes), 4);
}

static void a_close_by_the_guest(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);
    const uint8_t *bytes;

    guest_offer(guest, 4);
    guest_write(guest, told, "bye", 3);
    packet.raw_flags = PACKET_SHUTDOWN_RECEIVE;
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(told->closed, VSOCK_CLOSED_RECEIVE);
    assert_int_equal(vsock_send(told->stream, "x", 1), 0);
    packet.raw_flags = PACKET_SHUTDOWN_SEND; /* flags add up */
    guest_send(guest, &packet, NULL, 0);
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
    guest_expect_nothing(guest);
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE);
    assert_int_equal(vsock_peek(told->stream, &bytes), 3);
    assert_memory_equal(bytes, "bye", 3);
}

static void a_shutdown_without_flags(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);

    guest_offer(guest, 4);
    guest_send(guest, &packet, NULL, 0);
    packet.raw_flags = ~(uint32_t)(PACKET_SHUTDOWN_RECEIVE | PACKET_SHUTDOWN_SEND);
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(told->closes, 0);
    guest_expect_nothing(guest);
}

/* The guest broke RULE: the stream is reset, and the session knows why. */
static void assert_fault(struct guest *guest, const struct told *told, const char *rule)
{
    guest_expect(guest, told->guest_port, told->host_port, PACKET_RST);
    guest_expect_nothing(guest);
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE | VSOCK_CLOSED_RULE);
    assert_string_equal(vsock_stream_fault(told->stream), rule);
    assert_int_equal(driver_read(&guest->driver, REG_STATUS), RUNNING);
}

static void broken_rules_end_the_stream(void **state)
{
    static const struct {
        uint16_t type, op;
        uint32_t payload, real;
        const char *rule;
    } cases[] = {
        {2, PACKET_RW, 1, 1, "the type of a packet is not STREAM"},
        {1, 0, 0, 0, "the operation of a packet is unknown"},
        {1, 8, 0, 0, "the operation of a packet is unknown"},
        {1, 0xffff, 0, 0, "the operation of a packet is unknown"},
        {1, PACKET_RESPONSE, 0, 0, "RESPONSE without a REQUEST"},
        {1, PACKET_CREDIT_UPDATE, 1, 1, "a packet other than RW has a payload"},
        {1, PACKET_SHUTDOWN, 4, 4, "a packet other than RW has a payload"},
        {1, PACKET_RW, 65537, 65537, "the payload of a packet is longer than 64 KiB"},
        {1, PACKET_RW, UINT32_MAX, 16, "the payload of a packet is longer than 64 KiB"},
        {1, PACKET_RW, 17, 16, "the payload of a packet is longer than its buffers"},
        {1, PACKET_RW, 1, 0, "the payload of a packet is longer than its buffers"},
    };
    struct guest *guest = *state;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct told *told = guest_connect(guest, PORT + i, SERVICE, 1 << 16);
        struct packet packet = guest_packet(PORT + i, SERVICE, cases[i].op);

        guest_offer(guest, 2);
        packet.raw_type = cases[i].type;
        packet.raw_payload_bytes = cases[i].payload;
        guest_send(guest, &packet, NULL, cases[i].real);
        assert_fault(guest, told, cases[i].rule);
        vsock_close(told->stream);
        told->stream = NULL;
        guest_expect_nothing(guest);
    }
}

static void payloads_up_to_64_kib(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    const uint8_t *bytes;

    guest_write(guest, told, NULL, 65536);
    assert_int_equal(vsock_peek(told->stream, &bytes), 65536);
    guest_write(guest, told, NULL, 0); /* an empty one is nothing */
    assert_int_equal(told->received, 1);
    assert_int_equal(told->closes, 0);
}

static void data_after_shutdown(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);

    guest_offer(guest, 2);
    packet.raw_flags = PACKET_SHUTDOWN_SEND;
    guest_send(guest, &packet, NULL, 0);
    guest_write(guest, told, "x", 1);
    assert_fault(guest, told, "data after SHUTDOWN");
}

static void data_before_the_response(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_REQUEST);

    guest_send(guest, &packet, NULL, 0); /* no RX buffer: the response waits */
    guest_write(guest, &guest->told[1], "x", 1);
    guest_offer(guest, 4);
    assert_fault(guest, &guest->told[1], "data before the connection is open");
}

static void a_driver_reset_ends_all_streams(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct told *other = guest_connect(guest, PORT + 1, SERVICE, 1 << 16);
    struct packet stray = guest_packet(PORT + 2, SERVICE, PACKET_RW);
    const uint8_t *bytes;

    guest_write(guest, told, "kept", 4);
    guest_send(guest, &stray, NULL, 0); /* its reset waits for a buffer */
    assert_int_equal(vsock_send(other->stream, "lost", 4), 4);
    driver_write(&guest->driver, REG_STATUS, 0);
    assert_int_equal(told->closes, 0); /* not on this thread */
    driver_settle(&guest->driver);
    assert_int_equal(told->closed, ALL_CLOSED | VSOCK_CLOSED_GONE | VSOCK_CLOSED_RULE);
    assert_string_equal(vsock_stream_fault(other->stream), "the driver reset the device");
    assert_int_equal(vsock_peek(told->stream, &bytes), 4);
    vsock_close(told->stream);
    vsock_close(other->stream);
    told->stream = other->stream = NULL;
    guest_start(guest);
    guest_offer(guest, 4);
    guest_expect_nothing(guest); /* nothing of before comes out */
    (void)guest_connect(guest, PORT, SERVICE, 1 << 16);
}

#define VSOCK_TEST(name) cmocka_unit_test_setup_teardown(name, guest_set_up, guest_tear_down)

static const struct CMUnitTest tests[] = {
    VSOCK_TEST(the_cid_is_in_the_configuration_space),
    VSOCK_TEST(bytes_arrive_in_both_directions),
    VSOCK_TEST(a_refused_port_is_reset),
    VSOCK_TEST(packets_for_no_stream_are_reset),
    VSOCK_TEST(other_cids_are_ignored),
    VSOCK_TEST(other_types_are_reset),
    VSOCK_TEST(a_duplicate_request_changes_nothing),
    VSOCK_TEST(eight_streams_and_no_more),
    VSOCK_TEST(a_reset_by_the_guest),
    VSOCK_TEST(a_reset_by_the_session),
    VSOCK_TEST(a_half_close_by_the_guest),
    VSOCK_TEST(a_half_close_by_the_session),
    VSOCK_TEST(a_close_by_the_guest),
    VSOCK_TEST(a_shutdown_without_flags),
    VSOCK_TEST(broken_rules_end_the_stream),
    VSOCK_TEST(payloads_up_to_64_kib),
    VSOCK_TEST(data_after_shutdown),
    VSOCK_TEST(data_before_the_response),
    VSOCK_TEST(a_driver_reset_ends_all_streams),
};

UNIT_MAIN(tests)
