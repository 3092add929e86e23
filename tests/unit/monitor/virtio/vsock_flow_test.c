/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/vsock_guest.c */
/* vsock_flow_test.c: many streams, full tables, odd chains: nothing may grow, stall or be lost. */
#include "monitor/virtio/vsock.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "monitor/virtio/vsock_stream.h"
#include "tests/unit/monitor/virtio/vsock_guest.h"

enum { PORT = 700, SERVICE = 2 };

/* ---- many streams, full tables ---- */

static void streams_take_turns(void **state)
{
    struct guest *guest = *state;
    struct told *told[3];
    uint8_t bytes[VSOCK_SEND_BYTES] = {0};

    for (uint32_t i = 0; i < 3; i++)
        told[i] = guest_connect(guest, PORT + i, SERVICE, UINT32_MAX);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(vsock_send(told[i]->stream, bytes, sizeof(bytes)), sizeof(bytes));
    guest_offer(guest, 9);
    for (uint32_t i = 0; i < 9; i++)
        guest_expect(guest, PORT + i % 3, SERVICE, PACKET_RW);
}

/* More than one doorbell may do at once, in each direction; then all buffers are gone. */
static void a_batch_ends_and_goes_on(void **state)
{
    static const uint8_t bytes[VSOCK_SEND_BYTES];
    struct guest *guest = *state;
    struct told *told[5];
    uint32_t count = 0;

    for (uint32_t i = 0; i < 5; i++)
        told[i] = guest_connect(guest, PORT + i, SERVICE, UINT32_MAX);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(vsock_send(told[i]->stream, bytes, sizeof(bytes)), sizeof(bytes));
    guest_offer(guest, GUEST_QUEUE_SIZE);
    while (guest_receive(guest))
        count++;
    assert_int_equal(count, GUEST_QUEUE_SIZE);
    guest_offer(guest, GUEST_QUEUE_SIZE);
    while (guest_receive(guest))
        count++;
    assert_int_equal(count, 5 * 17); /* 64 KiB in pages, less a header each */
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(told[i]->closes, 0);
}

static void a_flood_does_not_starve_another_stream(void **state)
{
    struct guest *guest = *state;
    struct told *flood = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct told *other = guest_connect(guest, PORT + 1, SERVICE, 1 << 16);

    guest_fill(guest, flood, VSOCK_RECEIVE_BYTES); /* and nobody reads it */
    guest_write(guest, other, "result", 6);
    assert_int_equal(other->received, 1);
    assert_int_equal(flood->closes, 0);
}

static void queue_strays(struct guest *guest, uint32_t count)
{
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_RW);

    for (uint32_t i = 0; i < count; i++)
        guest_queue(guest, &packet, NULL, 0);
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(&guest->driver);
}

static uint32_t count_taken(struct guest *guest)
{
    uint32_t head, length, count = 0;

    while (ring_take(&guest->driver.rings[1], &head, &length))
        count++;
    return count;
}

/* CVE-2020-16843: both directions full, then drained: nothing may be stuck, nothing may be lost. */
static void resets_wait_in_a_table_of_fixed_size(void **state)
{
    struct guest *guest = *state;

    queue_strays(guest, 60);
    assert_int_equal(guest->vsock->reset_count, VSOCK_RESETS_GATE);
    assert_int_equal(count_taken(guest), VSOCK_RESETS_GATE); /* the rest stays in the TX queue */
    for (uint32_t i = 0; i < 60; i++) {
        guest_offer(guest, 1);
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
        guest_expect_nothing(guest);
    }
    assert_int_equal(count_taken(guest), 60 - VSOCK_RESETS_GATE);
    guest_offer(guest, 4);
    guest_expect_nothing(guest);
    assert_int_equal(guest->vsock->reset_count, 0);
}

static void all_buffers_at_once_settle_everything(void **state)
{
    struct guest *guest = *state;

    queue_strays(guest, 60);
    guest_offer(guest, 64); /* one doorbell */
    assert_int_equal(count_taken(guest), 60);
    for (uint32_t i = 0; i < 60; i++)
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
    guest_expect_nothing(guest);
}

static void live_streams_have_room_in_the_table(void **state)
{
    struct guest *guest = *state;
    struct told *told[VSOCK_STREAMS_MAX];

    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++)
        told[i] = guest_connect(guest, PORT + 1 + i, SERVICE, 4096);
    queue_strays(guest, 60);
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++)
        vsock_close(told[i]->stream);
    driver_settle(&guest->driver);
    assert_int_equal(guest->vsock->reset_count, VSOCK_RESETS_MAX);
    assert_int_equal(count_taken(guest) % 100, VSOCK_RESETS_GATE);
    guest_offer(guest, 56);
    guest_offer(guest, 40);
    for (uint32_t i = 0; i < VSOCK_RESETS_GATE; i++)
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
    for (uint32_t i = 0; i < VSOCK_STREAMS_MAX; i++)
        guest_expect(guest, PORT + 1 + i, SERVICE, PACKET_RST);
    for (uint32_t i = 0; i < 60 - VSOCK_RESETS_GATE; i++)
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
    guest_expect_nothing(guest);
}

/* The session may close in the callback that tells it that the stream is gone. */
static void closing_inside_a_callback(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_SHUTDOWN);

    guest->close_gone = true;
    packet.raw_flags = PACKET_SHUTDOWN_RECEIVE | PACKET_SHUTDOWN_SEND;
    for (int i = 0; i < 20; i++) {
        struct told *told = guest_connect(guest, PORT, SERVICE, 4096);

        guest_offer(guest, 1);
        guest_send(guest, &packet, NULL, 0);
        assert_null(told->stream);
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
        guest_expect_nothing(guest);
    }
    for (int i = 0; i < 20; i++) {
        struct told *told = guest_connect(guest, PORT, SERVICE, 4096);

        guest_offer(guest, 1);
        guest_write(guest, told, NULL, 70000 % 65537);
        guest_credit(guest, told, 0, 99); /* a lie */
        assert_null(told->stream);
        guest_expect(guest, PORT, SERVICE, PACKET_RST);
    }
}

static void a_drained_flood_makes_room_inside_the_callback(void **state)
{
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);

    guest->drain = true;
    guest_offer(guest, 16);
    for (int i = 0; i < 16; i++)
        guest_write(guest, told, NULL, 65536);
    assert_int_equal(told->closes, 0);
    assert_int_equal(guest->drained, 16 * 65536);
    for (int i = 0; i < 16 * 65536 / (VSOCK_RECEIVE_BYTES / 2); i++)
        guest_expect(guest, PORT, SERVICE, PACKET_CREDIT_UPDATE);
    guest_expect_nothing(guest);
}

/* ---- the shapes of chains ---- */

static void header_and_payload_in_any_pieces(void **state)
{
    static const uint32_t shapes[][8] = {
        {44 + 10},
        {44, 10},
        {44, 1, 9},
        {1, 43, 10},
        {43, 1, 10},
        {40, 14},
        {20, 20, 10, 4},
        {44, 2, 2, 2, 2, 2},
    };
    struct guest *guest = *state;
    struct told *told = guest_connect(guest, PORT, SERVICE, 1 << 16);
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_RW);
    uint8_t bytes[54];

    packet.raw_payload_bytes = 10;
    packet_encode(bytes, &packet);
    memcpy(bytes + 44, "0123456789", 10);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const uint8_t *got;

        guest_send_raw(guest, bytes, shapes[i]);
        assert_int_equal(vsock_peek(told->stream, &got), 10);
        assert_memory_equal(got, "0123456789", 10);
        vsock_consume(told->stream, 10);
    }
}

static void chains_without_a_header_are_dropped(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_RW);
    uint8_t bytes[PACKET_HEADER_BYTES];

    guest_offer(guest, 4);
    packet_encode(bytes, &packet);
    guest_send_raw(guest, bytes, (const uint32_t[]){1, 0});
    guest_send_raw(guest, bytes, (const uint32_t[]){43, 0});
    guest_send_raw(guest, bytes, (const uint32_t[]){20, 23, 0});
    guest_expect_nothing(guest);
    assert_int_equal(driver_read(&guest->driver, REG_STATUS), RUNNING);
    guest_send_raw(guest, bytes, (const uint32_t[]){20, 24, 0});
    guest_expect(guest, PORT, SERVICE, PACKET_RST);
}

static void the_event_queue_is_left_alone(void **state)
{
    struct guest *guest = *state;
    struct driver_ring *ring = &guest->driver.rings[2];
    uint32_t head, length;

    ring_describe(ring, 0, GUEST_RX_GPA, 8, DESC_WRITE, 0);
    ring_offer(ring, 0);
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, 2);
    driver_settle(&guest->driver);
    assert_false(ring_take(ring, &head, &length));
    (void)guest_connect(guest, PORT, SERVICE, 1 << 16);
}

static void a_broken_ring_breaks_the_device(void **state)
{
    struct guest *guest = *state;

    ring_offer(&guest->driver.rings[1], GUEST_QUEUE_SIZE);
    driver_write(&guest->driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(&guest->driver);
    assert_int_equal(driver_read(&guest->driver, REG_STATUS), RUNNING | NEEDS_RESET);
    assert_non_null(
        strstr(guest->driver.device->breakage.text, "vsock: TX queue: descriptor index 64"));
}

static void a_broken_buffer_breaks_the_device(void **state)
{
    struct guest *guest = *state;
    struct packet packet = guest_packet(PORT, SERVICE, PACKET_RW);

    ring_describe(&guest->driver.rings[0], 0, UINT64_MAX, 64, DESC_WRITE, 0);
    ring_offer(&guest->driver.rings[0], 0);
    guest_send(guest, &packet, NULL, 0);
    assert_int_equal(driver_read(&guest->driver, REG_STATUS), RUNNING | NEEDS_RESET);
    assert_non_null(strstr(guest->driver.device->breakage.text, "vsock: RX queue: descriptor at"));
}

#define VSOCK_TEST(name) cmocka_unit_test_setup_teardown(name, guest_set_up, guest_tear_down)

static const struct CMUnitTest tests[] = {
    VSOCK_TEST(streams_take_turns),
    VSOCK_TEST(a_batch_ends_and_goes_on),
    VSOCK_TEST(a_flood_does_not_starve_another_stream),
    VSOCK_TEST(resets_wait_in_a_table_of_fixed_size),
    VSOCK_TEST(all_buffers_at_once_settle_everything),
    VSOCK_TEST(live_streams_have_room_in_the_table),
    VSOCK_TEST(closing_inside_a_callback),
    VSOCK_TEST(a_drained_flood_makes_room_inside_the_callback),
    VSOCK_TEST(header_and_payload_in_any_pieces),
    VSOCK_TEST(chains_without_a_header_are_dropped),
    VSOCK_TEST(the_event_queue_is_left_alone),
    VSOCK_TEST(a_broken_ring_breaks_the_device),
    VSOCK_TEST(a_broken_buffer_breaks_the_device),
};

UNIT_MAIN(tests)
