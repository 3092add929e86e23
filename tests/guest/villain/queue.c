/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c: descriptors and rings, wrongly (virtio 1.2 §2.7), on the scratch disk. */
#include "villain/villain.h"

#define disk villain_disk

enum { SIZE = BLK_QUEUE_SIZE };

static uint8_t data[64 * KIB] __attribute__((aligned(4096)));

static void up(uint16_t size)
{
    blk_up(&disk, DISK_SCRATCH, ~0ULL, size);
    blk_header = (struct blk_header){.type = BLK_IN};
    blk_status = BLK_UNTOUCHED;
}

static void desc(
    unsigned index, const volatile void *at, uint32_t bytes, unsigned flags, unsigned next)
{
    virtq_desc(&disk.queue, (uint16_t)index, (uint64_t)at, bytes, (uint16_t)flags, (uint16_t)next);
}

static void offer(unsigned head)
{
    virtq_offer(&disk.queue, (uint16_t)head);
    virtq_kick(&disk.queue);
}

/* A read of one sector in descriptors 0 to 2, to be spoilt. */
static void good_chain(void)
{
    desc(0, &blk_header, BLK_HEADER_BYTES, DESC_NEXT, 1);
    desc(1, data, SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 2);
    desc(2, &blk_status, 1, DESC_WRITE, 0);
}

/* The queue broke, nothing was written, and a correct request does not get it going again. */
static void expect_queue_broken(void)
{
    expect_broken(&disk.device);
    expect_equal("used.idx", disk.queue.rings->used.idx, 0);
    expect_equal("status byte", blk_status, BLK_UNTOUCHED);
    good_chain();
    offer(0);
    for (unsigned i = 0; i < 100; i++)
        breathe();
    expect_equal("used.idx of a broken queue", disk.queue.rings->used.idx, 0);
    expect(reg_read(&disk.device, REG_STATUS) & STATUS_NEEDS_RESET, "the queue mended itself");
}

static void head(unsigned value)
{
    up(SIZE);
    good_chain();
    offer(value);
    expect_queue_broken();
}

static void next(unsigned value)
{
    up(SIZE);
    good_chain();
    desc(1, data, SECTOR_BYTES, DESC_NEXT | DESC_WRITE, value);
    offer(0);
    expect_queue_broken();
}

/* A chain of LENGTH descriptors that then begins again at its second. */
static void loop(unsigned length)
{
    up(SIZE);
    for (unsigned i = 0; i < length; i++)
        desc(i, data, SECTOR_BYTES, DESC_NEXT | DESC_WRITE, i + 1 < length ? i + 1 : length / 2);
    offer(0);
    expect_queue_broken();
}

/* The longest right chain: every descriptor of a queue of 256. */
static void longest_chain(unsigned unused)
{
    (void)unused;
    up(VIRTQ_SIZE_MAX);
    desc(0, &blk_header, BLK_HEADER_BYTES, DESC_NEXT, 1);
    for (unsigned i = 1; i < VIRTQ_SIZE_MAX - 1; i++)
        desc(i, data + (size_t)2 * i, 2, DESC_NEXT | DESC_WRITE, i + 1);
    desc(VIRTQ_SIZE_MAX - 1, &blk_status, 1, DESC_WRITE, 0);
    offer(0);
    /* 508 bytes are no sector. */
    expect_equal("the answer", blk_answer(&disk, &(uint32_t){0}), BLK_IOERR);
}

static void flags(unsigned value)
{
    up(SIZE);
    good_chain();
    desc(0, &blk_header, BLK_HEADER_BYTES, DESC_NEXT | value, 1);
    offer(0);
    expect_queue_broken();
}

/* A table that holds a table (§2.7.5.3.1), though none was negotiated. */
static void nested_indirect(unsigned unused)
{
    static struct virtq_desc table[2] __attribute__((aligned(16)));

    (void)unused;
    up(SIZE);
    table[0] = (struct virtq_desc){(uint64_t)table, sizeof(table), DESC_INDIRECT | DESC_NEXT, 1};
    table[1] = (struct virtq_desc){(uint64_t)table, sizeof(table), DESC_INDIRECT, 0};
    desc(0, table, sizeof(table), DESC_INDIRECT, 0);
    offer(0);
    expect_queue_broken();
}

/* A buffer where none can be: one for each number. */
static const struct {
    uint64_t start; /* from the end of RAM when `from_end` */
    uint32_t bytes;
    bool from_end;
} buffers[] = {
    {0, 1, true},     /* right behind RAM */
    {-1ULL, 2, true}, /* across its end */
    {-512ULL, 513, true}, {-512ULL, 0xffffffff, true}, {0x300000, 0xffffffff, false},
    {0x300000, 0x80000000, false}, {3 * GIB, 512, false}, /* the hole */
    {0xd0000000, 512, false},                             /* a device's registers */
    {0xd0001050, 4, false},                               /* a doorbell */
    {0xfec00000, 512, false},                             /* IOAPIC */
    {0xfee00000, 512, false},                             /* local APIC */
    {0xfffbd000, 512, false},                             /* what KVM keeps for itself */
    {4 * GIB - 1, 2, false}, {4 * GIB, 512, false}, {1ULL << 40, 512, false},
    {1ULL << 63, 512, false}, {-1ULL, 1, false}, {-1ULL, 2, false}, /* wraps */
    {-256ULL, 512, false}, {-1ULL << 32 | 0x300000, 512, false},    /* right in its low half */
};

static void buffer(unsigned which)
{
    uint64_t at = buffers[which].start + (buffers[which].from_end ? ram_low_end() : 0);

    for (unsigned part = 0; part < 3; part++) {
        unsigned writable = part == 0 ? 0 : DESC_WRITE;

        up(SIZE);
        good_chain();
        virtq_desc(&disk.queue, (uint16_t)part, at, buffers[which].bytes,
            (uint16_t)(writable | (part < 2 ? DESC_NEXT : 0)), (uint16_t)(part + 1));
        offer(0);
        expect_queue_broken();
    }
}

/* The last sector of RAM is as good as any. */
static void buffer_at_end(unsigned unused)
{
    volatile uint8_t *last = (volatile uint8_t *)(ram_low_end() - SECTOR_BYTES);

    (void)unused;
    up(SIZE);
    good_chain();
    desc(1, last, SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 2);
    offer(0);
    expect_equal("the answer", blk_answer(&disk, &(uint32_t){0}), BLK_OK);
}

static void empty_buffer(unsigned which)
{
    up(SIZE);
    good_chain();
    desc(which, data, 0, (which == 0 ? 0 : DESC_WRITE) | (which < 2 ? DESC_NEXT : 0U), which + 1);
    offer(0);
    expect_queue_broken();
}

static void readable_behind_writable(unsigned unused)
{
    (void)unused;
    up(SIZE);
    good_chain();
    desc(0, &blk_status, 1, DESC_WRITE | DESC_NEXT, 1);
    desc(1, &blk_header, BLK_HEADER_BYTES, 0, 0);
    offer(0);
    expect_queue_broken();
}

/* More than 2^32 bytes in one chain (§2.7.5), each buffer by itself in RAM. */
static void too_many_bytes(unsigned unused)
{
    uint32_t bytes = (uint32_t)(ram_low_end() - MIB);

    (void)unused;
    up(VIRTQ_SIZE_MAX);
    for (unsigned i = 0; i < VIRTQ_SIZE_MAX; i++)
        desc(i, (const void *)MIB, bytes, DESC_WRITE | (i < 255 ? DESC_NEXT : 0U), i + 1);
    offer(0);
    expect_queue_broken();
}

static void idx_jump(unsigned by)
{
    up(SIZE);
    good_chain();
    disk.queue.rings->avail_idx = (uint16_t)by;
    virtq_kick(&disk.queue);
    expect_queue_broken();
}

/* As many as there are descriptors is right; the same chain each time. */
static void idx_full(unsigned unused)
{
    uint32_t id, bytes;

    (void)unused;
    up(SIZE);
    good_chain();
    disk.queue.rings->avail_idx = SIZE; /* the entries are all 0 */
    virtq_kick(&disk.queue);
    for (unsigned i = 0; i < SIZE; i++)
        expect(virtq_take(&disk.queue, &id, &bytes), "a request was not answered");
    expect_equal("status byte", blk_status, BLK_OK);
    expect_equal("status", reg_read(&disk.device, REG_STATUS), STATUS_ACTIVE);
}

/* One request answered, then the index goes back. */
static void idx_back(unsigned unused)
{
    (void)unused;
    up(SIZE);
    good_chain();
    offer(0);
    expect_equal("the answer", blk_answer(&disk, &(uint32_t){0}), BLK_OK);
    disk.queue.rings->avail_idx = 0;
    virtq_kick(&disk.queue);
    expect_broken(&disk.device);
}

/* 70,000 requests: every index wraps. */
static void idx_wraps(unsigned requests)
{
    uint32_t id, bytes;

    up(VIRTQ_SIZE_MAX);
    blk_header.type = BLK_FLUSH;
    desc(7, &blk_header, BLK_HEADER_BYTES, DESC_NEXT, 8);
    desc(8, &blk_status, 1, DESC_WRITE, 0);
    for (unsigned done = 0; done < requests;) {
        for (unsigned i = 0; i < VIRTQ_SIZE_MAX; i++)
            virtq_offer(&disk.queue, 7);
        virtq_kick(&disk.queue);
        for (unsigned i = 0; i < VIRTQ_SIZE_MAX; i++, done++) {
            if (!virtq_take(&disk.queue, &id, &bytes)) {
                expect(false, "a request was not answered");
                return;
            }
        }
    }
    expect_equal("id of the last", id, 7);
    expect_equal("status", reg_read(&disk.device, REG_STATUS), STATUS_ACTIVE);
}

/* Buffers that are the rings themselves: the driver's own loss, and nobody else's. */
static void buffer_is_ring(unsigned which)
{
    volatile struct virtq_rings *rings;
    const volatile void *places[4];

    up(SIZE);
    rings = disk.queue.rings;
    places[0] = rings->desc;
    places[1] = &rings->avail_flags;
    places[2] = &rings->used;
    places[3] = &rings->used.idx;
    good_chain();
    desc(1, places[which], SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 2);
    offer(0);
    for (unsigned i = 0; i < 100; i++)
        breathe();
}

/* Rings over each other. */
static void rings_overlap(unsigned which)
{
    static struct virtq_rings rings;
    uint64_t desc_gpa = (uint64_t)rings.desc, used_gpa = (uint64_t)&rings.used;

    blk_up(&disk, DISK_SCRATCH, ~0ULL, SIZE);
    device_negotiate(&disk.device, F_VERSION_1);
    disk.queue = virtq_make(&disk.device, 0, SIZE, &rings);
    good_chain();
    virtq_register(&disk.queue);
    reg_write(&disk.device, REG_QUEUE_READY, 0);
    virtq_write_place(&disk.queue, which == 0 ? REG_QUEUE_AVAIL : REG_QUEUE_USED,
        which == 2 ? (uint64_t)&rings.avail_flags / 4 * 4 : desc_gpa);
    if (which == 3)
        virtq_write_place(&disk.queue, REG_QUEUE_DESC, used_gpa);
    reg_write(&disk.device, REG_QUEUE_READY, 1);
    status_add(&disk.device, STATUS_DRIVER_OK);
    for (unsigned i = 0; i < 64; i++) {
        rings.avail_idx = (uint16_t)(rings.avail_idx + 1);
        virtq_kick(&disk.queue);
    }
    for (unsigned i = 0; i < 100; i++)
        breathe();
}

static void no_interrupt(unsigned unused)
{
    (void)unused;
    up(SIZE);
    good_chain();
    disk.queue.rings->avail_flags = 1;
    offer(0);
    expect_equal("the answer", blk_answer(&disk, &(uint32_t){0}), BLK_OK);
    for (unsigned i = 0; i < 100; i++)
        breathe();
    expect_equal("interrupt", reg_read(&disk.device, REG_INTERRUPT_STATUS), 0);
}

/* A flood: all descriptors, all bytes that one kick may ask for, over and over. */
static void flood(unsigned rounds)
{
    uint32_t id, bytes;

    up(SIZE);
    good_chain();
    desc(1, (const void *)(4 * MIB), 15 * MIB, DESC_NEXT | DESC_WRITE, 2);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < SIZE; i++)
            virtq_offer(&disk.queue, 0);
        virtq_kick(&disk.queue);
        for (unsigned i = 0; i < SIZE; i++)
            expect(virtq_take(&disk.queue, &id, &bytes), "a request was not answered");
    }
    expect_equal("status byte", blk_status, BLK_OK);
}

static const struct guest_case cases[] = {
    {"head 16 of 16", "2.7.13", head, SIZE},
    {"head 255", "2.7.13", head, 255},
    {"head 65535", "2.7.13", head, 65535},
    {"next 16 of 16", "2.7.5", next, SIZE},
    {"next 65535", "2.7.5", next, 65535},
    {"next 32768", "2.7.5", next, 32768},
    {"a descriptor that leads to itself", "2.7.5.2", loop, 1},
    {"a loop of 2 descriptors", "2.7.5.2", loop, 2},
    {"a loop of 15 descriptors", "2.7.5.2", loop, SIZE - 1},
    {"a loop of all descriptors", "2.7.5.2", loop, SIZE},
    {"a chain of all 256 descriptors", "2.7.5", longest_chain, 0},
    {"INDIRECT that was not negotiated", "2.7.5.3.1", flags, DESC_INDIRECT},
    {"flag 8", "2.7.5", flags, 8},
    {"flag 32768", "2.7.5", flags, 32768},
    {"all flags", "2.7.5", flags, 0xffff},
    {"INDIRECT within INDIRECT", "2.7.5.3.1", nested_indirect, 0},
    {"a buffer right behind RAM", "2.7.5", buffer, 0},
    {"a buffer one byte past RAM", "2.7.5", buffer, 1},
    {"a sector one byte past RAM", "2.7.5", buffer, 2},
    {"a buffer of 2^32 - 1 bytes at the end of RAM", "2.7.5", buffer, 3},
    {"a buffer of 2^32 - 1 bytes", "2.7.5", buffer, 4},
    {"a buffer of 2^31 bytes", "2.7.5", buffer, 5},
    {"a buffer in the hole", "2.7.5", buffer, 6},
    {"a buffer on a device's registers", "2.7.5", buffer, 7},
    {"a buffer on a doorbell", "2.7.5", buffer, 8},
    {"a buffer on the IOAPIC", "2.7.5", buffer, 9},
    {"a buffer on the local APIC", "2.7.5", buffer, 10},
    {"a buffer on KVM's own pages", "2.7.5", buffer, 11},
    {"a buffer across 4 GiB", "2.7.5", buffer, 12},
    {"a buffer at 4 GiB without RAM there", "2.7.5", buffer, 13},
    {"a buffer at 2^40", "2.7.5", buffer, 14},
    {"a buffer at 2^63", "2.7.5", buffer, 15},
    {"a buffer on the last byte of all", "2.7.5", buffer, 16},
    {"a buffer that wraps by one byte", "2.7.5", buffer, 17},
    {"a buffer that wraps", "2.7.5", buffer, 18},
    {"a buffer that is right in 32 bits", "2.7.5", buffer, 19},
    {"a buffer that ends with RAM", "2.7.5", buffer_at_end, 0},
    {"an empty header", "2.7.5", empty_buffer, 0},
    {"an empty data buffer", "2.7.5", empty_buffer, 1},
    {"an empty status buffer", "2.7.5", empty_buffer, 2},
    {"a readable buffer behind a writable one", "2.7.4.2", readable_behind_writable, 0},
    {"a chain of more than 2^32 bytes", "2.7.5", too_many_bytes, 0},
    {"avail.idx one too far ahead", "2.7.13.3", idx_jump, SIZE + 1},
    {"avail.idx 32768 ahead", "2.7.13.3", idx_jump, 32768},
    {"avail.idx 65535 ahead", "2.7.13.3", idx_jump, 65535},
    {"avail.idx ahead by the size", "2.7.13.3", idx_full, 0},
    {"avail.idx goes back", "2.7.13.3", idx_back, 0},
    {"indices wrap at 65536", "2.7.6, 2.7.8", idx_wraps, 70000},
    {"a buffer that is the descriptor table", "none", buffer_is_ring, 0},
    {"a buffer that is the available ring", "none", buffer_is_ring, 1},
    {"a buffer that is the used ring", "none", buffer_is_ring, 2},
    {"a buffer that is used.idx", "none", buffer_is_ring, 3},
    {"available ring over the descriptor table", "none", rings_overlap, 0},
    {"used ring over the descriptor table", "none", rings_overlap, 1},
    {"used ring over the available ring", "none", rings_overlap, 2},
    {"descriptor table over the used ring", "none", rings_overlap, 3},
    {"interrupts suppressed", "2.7.7", no_interrupt, 0},
    {"floods of 15 MiB reads", "none", flood, 2},
};

void villain_queue(void)
{
    cases_run(cases, ARRAY_COUNT(cases), villain_disk_serves);
}

/* ---- RAM on both sides of the hole ---- */

static void across_hole(unsigned which)
{
    static const struct {
        uint64_t start;
        uint32_t bytes;
    } ranges[] = {{3 * GIB - 512, 1024}, {3 * GIB - 1, 2}, {3 * GIB - 512, 0xffffffff},
        {3 * GIB - 512, GIB + 1024}, {4 * GIB - 512, 1024}, {4 * GIB - 1, 2}};

    up(SIZE);
    good_chain();
    virtq_desc(&disk.queue, 1, ranges[which].start, ranges[which].bytes, DESC_NEXT | DESC_WRITE, 2);
    offer(0);
    expect_queue_broken();
}

/* START is right: the last sector below the hole, the first above it, the last of all. */
static void beside_hole(unsigned which)
{
    const uint64_t starts[] = {3 * GIB - 512, 4 * GIB, ram_high_end() - 512};

    up(SIZE);
    good_chain();
    virtq_desc(&disk.queue, 1, starts[which], 512, DESC_NEXT | DESC_WRITE, 2);
    offer(0);
    expect_equal("the answer", blk_answer(&disk, &(uint32_t){0}), BLK_OK);
}

static void past_high_end(unsigned unused)
{
    (void)unused;
    up(SIZE);
    good_chain();
    virtq_desc(&disk.queue, 1, ram_high_end() - 511, 512, DESC_NEXT | DESC_WRITE, 2);
    offer(0);
    expect_queue_broken();
}

static const struct guest_case hole_cases[] = {
    {"the last sector below the hole", "2.7.5", beside_hole, 0},
    {"the first sector above the hole", "2.7.5", beside_hole, 1},
    {"the last sector above the hole", "2.7.5", beside_hole, 2},
    {"a buffer into the hole", "2.7.5", across_hole, 0},
    {"a buffer into the hole by one byte", "2.7.5", across_hole, 1},
    {"a buffer across the hole and wrapping in 32 bits", "2.7.5", across_hole, 2},
    {"a buffer across the hole", "2.7.5", across_hole, 3},
    {"a buffer out of the hole", "2.7.5", across_hole, 4},
    {"a buffer out of the hole by one byte", "2.7.5", across_hole, 5},
    {"a buffer past the RAM above the hole", "2.7.5", past_high_end, 0},
};

void villain_hole(void)
{
    if (ram_low_end() != 3 * GIB || ram_high_end() <= 4 * GIB)
        guest_die("there is no RAM on both sides of the hole");
    cases_run(hole_cases, ARRAY_COUNT(hole_cases), villain_disk_serves);
}
