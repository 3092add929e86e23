/* SPDX-License-Identifier: Apache-2.0 */
/* mmio.c: registers of a virtio-mmio device, wrongly (virtio 1.2 §4.2.2, §2.1, §3.1.1). */
#include "villain/villain.h"

static struct virtq_rings rings;
static struct device device; /* the scratch disk */

static void negotiate(void)
{
    device = device_find(ID_BLOCK, DISK_SCRATCH);
    device_negotiate(&device, F_VERSION_1);
}

/* Every register but the status, and the doorbell: what a write of VALUE does must be nothing. */
static void write_all(unsigned size, uint64_t value)
{
    for (uint32_t offset = 0; offset + size <= REG_CONFIG; offset++) {
        if (offset % 4 == 0 && size == 4 && offset == REG_STATUS)
            continue;
        access_write(device.gpa + offset, size, value);
    }
}

static void identity(unsigned unused)
{
    (void)unused;
    negotiate();
    expect_equal("magic", reg_read(&device, REG_MAGIC), 0x74726976);
    expect_equal("version", reg_read(&device, REG_VERSION), 2);
    expect_equal("device id", reg_read(&device, REG_DEVICE_ID), ID_BLOCK);
    expect_equal("shm length low", reg_read(&device, REG_SHM_LENGTH), 0xffffffff);
    expect_equal("shm length high", reg_read(&device, REG_SHM_LENGTH + 4), 0xffffffff);
    expect_equal("no such register", reg_read(&device, 0x0d0), 0);
    expect_equal("a write-only register", reg_read(&device, REG_QUEUE_NOTIFY), 0);
}

/* SIZE is 1, 2 or 8: registers have 4 (§4.2.2.2). */
static void odd_size_reads(unsigned size)
{
    negotiate();
    for (uint32_t offset = 0; offset + size <= REG_CONFIG; offset++)
        expect_equal("a read of another size", access_read(device.gpa + offset, size), 0);
}

static void unaligned_reads(unsigned unused)
{
    (void)unused;
    negotiate();
    for (uint32_t offset = 1; offset + 4 <= REG_CONFIG; offset++) {
        if (offset % 4 != 0)
            expect_equal("an unaligned read", access_read(device.gpa + offset, 4), 0);
    }
}

/* A running device; nothing of it may change. */
static void odd_size_writes(unsigned size)
{
    villain_disk_serves();
    write_all(size, 0);
    write_all(size, ~0ULL);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
    access_write(device.gpa + REG_STATUS, size, 0);
    expect_equal(
        "status after a reset of another size", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
    expect_equal("a request", blk_request(&villain_disk, BLK_FLUSH, 0, NULL, 0), BLK_OK);
}

static void config_reads(unsigned size)
{
    uint8_t whole[64];

    negotiate();
    for (unsigned i = 0; i < sizeof(whole); i++)
        whole[i] = (uint8_t)access_read(device.gpa + REG_CONFIG + i, 1);
    for (uint32_t offset = 0; offset + size <= 60; offset += size) {
        uint64_t value = access_read(device.gpa + REG_CONFIG + offset, size);

        expect(memcmp(&value, whole + offset, size) == 0, "sizes do not agree");
    }
    for (uint32_t offset = 64; REG_CONFIG + offset + size <= WINDOW_BYTES; offset += 61)
        expect_equal(
            "behind the configuration", access_read(device.gpa + REG_CONFIG + offset, size), 0);
}

static void config_writes(unsigned size)
{
    uint64_t sectors;

    negotiate();
    sectors = access_read(device.gpa + REG_CONFIG, 8);
    for (uint32_t offset = REG_CONFIG; offset + size <= WINDOW_BYTES; offset += 7)
        access_write(device.gpa + offset, size, ~0ULL);
    expect_equal("capacity", access_read(device.gpa + REG_CONFIG, 8), sectors);
}

/* A status that is wrong at this point, and what must come of it: nothing, or FAILED. */
static const struct {
    uint32_t before, written, after;
} statuses[] = {
    {0, STATUS_DRIVER, 0},
    {0, STATUS_FEATURES_OK, 0},
    {0, STATUS_DRIVER_OK, 0},
    {0, 3, 0},
    {0, STATUS_ACTIVE, 0},
    {0, STATUS_NEEDS_RESET, 0},
    {0, 0x10, 0},
    {0, 0xffffff00, 0},
    {0, STATUS_FAILED, STATUS_FAILED},
    {1, 1 | STATUS_FEATURES_OK, 1},
    {1, 1 | STATUS_DRIVER_OK, 1},
    {1, STATUS_DRIVER, 1},
    {3, 3 | STATUS_DRIVER_OK, 3},
    {3, 3 | STATUS_DRIVER_OK | STATUS_FEATURES_OK, 3},
    {3, 1, 3},
    {3, 3 | STATUS_FAILED, 3 | STATUS_FAILED},
    {STATUS_CONFIGURING, 3, STATUS_CONFIGURING},
    {STATUS_CONFIGURING, STATUS_CONFIGURING | STATUS_NEEDS_RESET, STATUS_CONFIGURING},
    {STATUS_ACTIVE, 1, STATUS_ACTIVE},
    {STATUS_ACTIVE, STATUS_CONFIGURING, STATUS_ACTIVE},
    {STATUS_ACTIVE, STATUS_ACTIVE | STATUS_NEEDS_RESET, STATUS_ACTIVE},
    {STATUS_ACTIVE, 0xffffffff, STATUS_ACTIVE},
    {STATUS_ACTIVE, STATUS_ACTIVE | STATUS_FAILED, STATUS_ACTIVE | STATUS_FAILED},
};

static void status_reach(uint32_t wanted)
{
    static const uint32_t order[] = {
        STATUS_ACKNOWLEDGE, STATUS_DRIVER, STATUS_FEATURES_OK, STATUS_DRIVER_OK};

    device = device_find(ID_BLOCK, DISK_SCRATCH);
    reg_write(&device, REG_STATUS, 0);
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        if (order[i] == STATUS_FEATURES_OK && (wanted & STATUS_FEATURES_OK))
            features_write(&device, F_VERSION_1);
        if (wanted & order[i])
            status_add(&device, order[i]);
    }
    expect_equal("the status to begin with", reg_read(&device, REG_STATUS), wanted);
}

static void status_order(unsigned unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_COUNT(statuses); i++) {
        status_reach(statuses[i].before);
        reg_write(&device, REG_STATUS, statuses[i].written);
        expect_equal("status", reg_read(&device, REG_STATUS), statuses[i].after);
    }
}

/* All registers, all ones, in each status: the device must come back from it by a reset. */
static void registers_in_status(unsigned status)
{
    static const uint64_t values[] = {0, ~0ULL, 1, 0xd0000000};

    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        status_reach(status & ~(unsigned)STATUS_FAILED);
        if (status & STATUS_FAILED)
            status_add(&device, STATUS_FAILED);
        write_all(4, values[i]);
        for (uint32_t offset = 0; offset < REG_CONFIG; offset += 4)
            (void)reg_read(&device, offset);
    }
}

static void features_refused(unsigned which)
{
    static const uint64_t choices[] = {F_VERSION_1 | 1ULL << 63, F_VERSION_1 | 1ULL << 28,
        F_VERSION_1 | 1ULL << 29, F_VERSION_1 | 1ULL << 34, F_VERSION_1 | 1ULL << 40,
        F_VERSION_1 | BLK_F_RO, 0, BLK_F_FLUSH, ~0ULL};

    status_reach(STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    features_write(&device, choices[which]);
    status_add(&device, STATUS_FEATURES_OK);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACKNOWLEDGE | STATUS_DRIVER);
}

static void features_past_64(unsigned unused)
{
    (void)unused;
    status_reach(STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    features_write(&device, F_VERSION_1);
    reg_write(&device, REG_DRIVER_FEATURES_SELECT, 2);
    reg_write(&device, REG_DRIVER_FEATURES, 1);
    status_add(&device, STATUS_FEATURES_OK);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    reg_write(&device, REG_DEVICE_FEATURES_SELECT, 2);
    expect_equal("features past 64", reg_read(&device, REG_DEVICE_FEATURES), 0);
    reg_write(&device, REG_DEVICE_FEATURES_SELECT, 0xffffffff);
    expect_equal("features past 2^37", reg_read(&device, REG_DEVICE_FEATURES), 0);
}

static void features_late(unsigned unused)
{
    (void)unused;
    blk_up(&villain_disk, DISK_SCRATCH, 0, BLK_QUEUE_SIZE);
    device = villain_disk.device;
    features_write(&device, features_offered(&device));
    blk_header = (struct blk_header){0};
    expect_equal("DISCARD that was not negotiated in time",
        blk_request(&villain_disk, BLK_DISCARD, 0, &blk_header, 16), BLK_UNSUPP);
}

static void queue_before_features(unsigned unused)
{
    const struct virtq queue = virtq_make(&device, 0, 16, &rings);

    (void)unused;
    status_reach(STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    virtq_register(&queue);
    expect_equal("QueueReady", reg_read(&device, REG_QUEUE_READY), 0);
}

static void queue_absent(unsigned selected)
{
    negotiate();
    reg_write(&device, REG_QUEUE_SELECT, selected);
    expect_equal("QueueSizeMax", reg_read(&device, REG_QUEUE_SIZE_MAX), 0);
    reg_write(&device, REG_QUEUE_SIZE, 16);
    reg_write(&device, REG_QUEUE_READY, 1);
    expect_equal("QueueReady", reg_read(&device, REG_QUEUE_READY), 0);
}

/* The queue with one field wrong; the device finds it at DRIVER_OK. */
static void queue_size(unsigned size)
{
    const struct virtq queue = virtq_make(&device, 0, 16, &rings);

    negotiate();
    virtq_register(&queue);
    reg_write(&device, REG_QUEUE_READY, 0);
    reg_write(&device, REG_QUEUE_SIZE, size);
    reg_write(&device, REG_QUEUE_READY, 1);
    status_add(&device, STATUS_DRIVER_OK);
    expect_broken(&device);
}

/* Places of rings that cannot be: the top bits of the argument are the ring, the rest the place. */
enum { PLACES = 10 };

static void queue_place(unsigned which)
{
    static const uint32_t registers[] = {REG_QUEUE_DESC, REG_QUEUE_AVAIL, REG_QUEUE_USED};
    static const uint32_t bytes[] = {16 * 16, 6 + 2 * 16, 6 + 8 * 16};
    unsigned ring = which / PLACES;
    const struct virtq queue = virtq_make(&device, 0, 16, &rings);
    const uint64_t places[PLACES] = {0x200001, ram_low_end(), ram_low_end() - bytes[ring] + 16,
        3 * GIB, 0xd0000000, 0xfee00000, 1ULL << 63, 0xfffffffffffffff0, 0xffffffff00200000,
        0xfffffffffffffff0 - bytes[ring] + 16};

    negotiate();
    virtq_register(&queue);
    reg_write(&device, REG_QUEUE_READY, 0);
    virtq_write_place(&queue, registers[ring], places[which % PLACES]);
    reg_write(&device, REG_QUEUE_READY, 1);
    status_add(&device, STATUS_DRIVER_OK);
    expect_broken(&device);
}

/* The last place that is right: the descriptor table ends where RAM does. */
static void queue_last_place(unsigned unused)
{
    volatile struct virtq_desc *desc;

    (void)unused;
    negotiate();
    villain_disk.device = device;
    villain_disk.queue = virtq_make(&villain_disk.device, 0, 16, &rings);
    virtq_register(&villain_disk.queue);
    reg_write(&device, REG_QUEUE_READY, 0);
    desc = (volatile struct virtq_desc *)(ram_low_end() - 16 * sizeof(*desc));
    virtq_write_place(&villain_disk.queue, REG_QUEUE_DESC, (uint64_t)desc);
    reg_write(&device, REG_QUEUE_READY, 1);
    status_add(&device, STATUS_DRIVER_OK);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
    blk_header = (struct blk_header){.type = BLK_FLUSH};
    desc[15] = (struct virtq_desc){(uint64_t)&blk_header, 16, DESC_NEXT, 14};
    desc[14] = (struct virtq_desc){(uint64_t)&blk_status, 1, DESC_WRITE, 0};
    virtq_offer(&villain_disk.queue, 15);
    virtq_kick(&villain_disk.queue);
    expect_equal("a request", blk_answer(&villain_disk, &(uint32_t){0}), BLK_OK);
}

/* CVE-2026-5747: registers of a running queue are frozen. */
static void queue_frozen(unsigned value)
{
    villain_disk_serves();
    for (uint32_t reg = REG_QUEUE_SELECT; reg < REG_SHM_LENGTH; reg += 4) {
        if (reg != REG_STATUS && reg != REG_QUEUE_READY && reg != REG_QUEUE_SELECT)
            reg_write(&device, reg, value);
    }
    reg_write(&device, REG_QUEUE_READY, 1);
    expect_equal("QueueReady", reg_read(&device, REG_QUEUE_READY), 1);
    expect_equal("a request", blk_request(&villain_disk, BLK_FLUSH, 0, NULL, 0), BLK_OK);
}

/* §4.2.2.1: a queue whose QueueReady is 0 is not touched; reads give what was written. */
static void queue_stopped(unsigned unused)
{
    (void)unused;
    villain_disk_serves();
    reg_write(&device, REG_QUEUE_SELECT, 0);
    reg_write(&device, REG_QUEUE_READY, 0);
    expect_equal("QueueReady", reg_read(&device, REG_QUEUE_READY), 0);
    blk_header = (struct blk_header){.type = BLK_FLUSH};
    blk_send(
        &villain_disk, (const struct piece[]){{&blk_header, 16, false}, {&blk_status, 1, true}}, 2);
    for (unsigned i = 0; i < 2000; i++)
        breathe();
    expect_equal("status byte", blk_status, BLK_UNTOUCHED);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
}

static void no_queue(unsigned unused)
{
    (void)unused;
    negotiate();
    status_add(&device, STATUS_DRIVER_OK);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
    for (uint32_t value = 0; value < 70000; value += 997)
        reg_write(&device, REG_QUEUE_NOTIFY, value);
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
}

/* A doorbell that rings before DRIVER_OK is not lost. */
static void early_kick(unsigned unused)
{
    (void)unused;
    negotiate();
    villain_disk.device = device;
    villain_disk.queue = virtq_make(&villain_disk.device, 0, 16, &rings);
    virtq_register(&villain_disk.queue);
    blk_header = (struct blk_header){.type = BLK_FLUSH};
    blk_send(
        &villain_disk, (const struct piece[]){{&blk_header, 16, false}, {&blk_status, 1, true}}, 2);
    expect_equal("status byte before DRIVER_OK", blk_status, BLK_UNTOUCHED);
    status_add(&device, STATUS_DRIVER_OK);
    expect_equal("the answer", blk_answer(&villain_disk, &(uint32_t){0}), BLK_OK);
}

static void interrupt_ack(unsigned unused)
{
    (void)unused;
    villain_disk_serves();
    reg_write(&device, REG_INTERRUPT_ACK, ~(uint32_t)INTERRUPT_USED);
    expect_equal(
        "acknowledged without cause", reg_read(&device, REG_INTERRUPT_STATUS), INTERRUPT_USED);
    reg_write(&device, REG_INTERRUPT_STATUS, 0);
    expect_equal(
        "written, not acknowledged", reg_read(&device, REG_INTERRUPT_STATUS), INTERRUPT_USED);
    reg_write(&device, REG_INTERRUPT_ACK, ~0U);
    expect_equal("acknowledged", reg_read(&device, REG_INTERRUPT_STATUS), 0);
}

/* After a reset no buffer is written any more (§2.4.1), and a half-set-up queue is forgotten. */
static void reset_in_flight(unsigned rounds)
{
    static uint8_t data[16][8 * KIB];

    device = device_find(ID_BLOCK, DISK_SCRATCH);
    for (unsigned round = 0; round < rounds; round++) {
        blk_up(&villain_disk, DISK_SCRATCH, ~0ULL, 64);
        blk_header = (struct blk_header){.type = BLK_IN};
        for (uint16_t i = 0; i < 16; i++) {
            uint16_t at = (uint16_t)(3 * i);

            virtq_desc(&villain_disk.queue, at, (uint64_t)&blk_header, 16, DESC_NEXT, at + 1);
            virtq_desc(&villain_disk.queue, at + 1, (uint64_t)data[i], sizeof(data[i]),
                DESC_NEXT | DESC_WRITE, at + 2);
            virtq_desc(&villain_disk.queue, at + 2, (uint64_t)&blk_status, 1, DESC_WRITE, 0);
            virtq_offer(&villain_disk.queue, at);
        }
        virtq_kick(&villain_disk.queue);
        for (unsigned i = 0; i < round % 8; i++)
            breathe();
        reg_write(&device, REG_STATUS, 0);
        expect_equal("status after reset", reg_read(&device, REG_STATUS), 0);
        memset(data, 0x5a, sizeof(data));
        blk_status = BLK_UNTOUCHED;
        breathe();
        for (size_t i = 0; i < sizeof(data); i += 509)
            expect_equal("a buffer after reset", ((uint8_t *)data)[i], 0x5a);
        expect_equal("a status byte after reset", blk_status, BLK_UNTOUCHED);
    }
}

static const struct guest_case cases[] = {
    {"identity and absent registers", "4.2.2", identity, 0},
    {"registers read with 1 byte", "4.2.2.2", odd_size_reads, 1},
    {"registers read with 2 bytes", "4.2.2.2", odd_size_reads, 2},
    {"registers read with 8 bytes", "4.2.2.2", odd_size_reads, 8},
    {"registers read unaligned", "4.2.2.2", unaligned_reads, 0},
    {"registers written with 1 byte", "4.2.2.2", odd_size_writes, 1},
    {"registers written with 2 bytes", "4.2.2.2", odd_size_writes, 2},
    {"registers written with 8 bytes", "4.2.2.2", odd_size_writes, 8},
    {"configuration read with 1 byte", "4.2.2.2", config_reads, 1},
    {"configuration read with 2 bytes", "4.2.2.2", config_reads, 2},
    {"configuration read with 4 bytes", "4.2.2.2", config_reads, 4},
    {"configuration read with 8 bytes", "4.2.2.2", config_reads, 8},
    {"configuration written with 1 byte", "5.2.4", config_writes, 1},
    {"configuration written with 2 bytes", "5.2.4", config_writes, 2},
    {"configuration written with 4 bytes", "5.2.4", config_writes, 4},
    {"configuration written with 8 bytes", "5.2.4", config_writes, 8},
    {"status bits out of order", "2.1.1, 3.1.1", status_order, 0},
    {"registers written in status 0", "4.2.2", registers_in_status, 0},
    {"registers written in ACKNOWLEDGE", "4.2.2", registers_in_status, 1},
    {"registers written in DRIVER", "4.2.2", registers_in_status, 3},
    {"registers written in FEATURES_OK", "4.2.2", registers_in_status, STATUS_CONFIGURING},
    {"registers written in DRIVER_OK", "4.2.2", registers_in_status, STATUS_ACTIVE},
    {"registers written in FAILED", "4.2.2", registers_in_status, STATUS_ACTIVE | STATUS_FAILED},
    {"feature 63 that was not offered", "2.2.2", features_refused, 0},
    {"INDIRECT_DESC that was not offered", "2.2.2", features_refused, 1},
    {"EVENT_IDX that was not offered", "2.2.2", features_refused, 2},
    {"RING_PACKED that was not offered", "2.2.2", features_refused, 3},
    {"RING_RESET that was not offered", "2.2.2", features_refused, 4},
    {"BLK_F_RO that was not offered", "2.2.2", features_refused, 5},
    {"no features", "6.1, 6.2", features_refused, 6},
    {"features without VERSION_1", "6.1, 6.2", features_refused, 7},
    {"all features", "2.2.2", features_refused, 8},
    {"features past 64", "2.2.2", features_past_64, 0},
    {"features after FEATURES_OK", "3.1.1", features_late, 0},
    {"a queue before FEATURES_OK", "3.1.1", queue_before_features, 0},
    {"queue 1 of a disk", "4.2.3.2", queue_absent, 1},
    {"queue 3 of a disk", "4.2.3.2", queue_absent, 3},
    {"queue 65535", "4.2.3.2", queue_absent, 65535},
    {"queue 2^31", "4.2.3.2", queue_absent, 1U << 31},
    {"queue 2^32 - 1", "4.2.3.2", queue_absent, 0xffffffff},
    {"queue size 0", "2.7", queue_size, 0},
    {"queue size 3", "2.7", queue_size, 3},
    {"queue size 255", "2.7", queue_size, 255},
    {"queue size 257", "4.2.2.2", queue_size, 257},
    {"queue size 512", "4.2.2.2", queue_size, 512},
    {"queue size 65535", "4.2.2.2", queue_size, 65535},
    {"queue size 65536", "4.2.2.2", queue_size, 65536},
    {"queue size 65552, 16 in 16 bits", "4.2.2.2", queue_size, 65552},
    {"queue size 2^31", "4.2.2.2", queue_size, 1U << 31},
    {"queue size 2^32 - 1", "4.2.2.2", queue_size, 0xffffffff},
#define PLACE(ring, number)                                                                        \
    {"descriptor table at " ring, "2.7, 2.7.5", queue_place, number},                              \
        {"available ring at " ring, "2.7, 2.7.6", queue_place, PLACES + number},                   \
    {                                                                                              \
        "used ring at " ring, "2.7, 2.7.8", queue_place, 2 * PLACES + number                       \
    }
    PLACE("an odd address", 0),
    PLACE("the end of RAM", 1),
    PLACE("16 bytes too near to the end of RAM", 2),
    PLACE("the hole", 3),
    PLACE("a device's registers", 4),
    PLACE("the local APIC", 5),
    PLACE("2^63", 6),
    PLACE("2^64 - 16", 7),
    PLACE("high bits over a right address", 8),
    PLACE("the end of the address space", 9),
    {"descriptor table at the last right place", "2.7.5", queue_last_place, 0},
    {"queue registers 0 after DRIVER_OK", "4.2.2.2", queue_frozen, 0},
    {"queue registers 4 after DRIVER_OK", "4.2.2.2", queue_frozen, 4},
    {"queue registers 65535 after DRIVER_OK", "4.2.2.2", queue_frozen, 65535},
    {"queue registers all ones after DRIVER_OK", "4.2.2.2", queue_frozen, 0xffffffff},
    {"QueueReady 0 after DRIVER_OK", "4.2.2.1", queue_stopped, 0},
    {"DRIVER_OK without a queue, every doorbell", "4.2.2", no_queue, 0},
    {"a doorbell before DRIVER_OK", "3.1.1", early_kick, 0},
    {"interrupts acknowledged that are not there", "4.2.2", interrupt_ack, 0},
    {"reset with requests under way", "2.4.1", reset_in_flight, 200},
};

void villain_mmio(void)
{
    device = device_find(ID_BLOCK, DISK_SCRATCH);
    cases_run(cases, ARRAY_COUNT(cases), villain_disk_serves);
}
