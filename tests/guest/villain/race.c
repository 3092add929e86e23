/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race.c: what the device reads is changed while it may be reading it. Whatever it saw, it was one
 * of the two values, and that was checked: the bytes around the buffers stay as they are, a disk
 * that is read-only stays as it is, and the device comes back from it.
 *
 * The changes come from this vCPU and go on until the host's event loop has answered. So the loop
 * reads while they are made, wherever the host's scheduler stops this vCPU for it; with a second
 * processor it reads at the same time as well, and may see one value first and the other then.
 */
#include "villain/villain.h"

#define disk villain_disk

enum {
    SIZE = BLK_QUEUE_SIZE,
    ROUNDS = 100,
    FLIPS = 999, /* between two looks at the status register; odd, so that neither value is there
                    at each look, which takes longer than all of them */
    MARGIN = 4096,
};

static uint8_t data[64 * KIB] __attribute__((aligned(4096)));
static unsigned answers, refusals, breakages;

/* Two values of 8 bytes that take turns in PLACE. */
struct flip {
    volatile uint64_t *place;
    uint64_t good, bad;
};

static void good_chain(uint16_t data_flags)
{
    virtq_desc(&disk.queue, 0, (uint64_t)&blk_header, BLK_HEADER_BYTES, DESC_NEXT, 1);
    virtq_desc(&disk.queue, 1, (uint64_t)data + MARGIN, SECTOR_BYTES, DESC_NEXT | data_flags, 2);
    virtq_desc(&disk.queue, 2, (uint64_t)&blk_status, 1, DESC_WRITE, 0);
}

/*
 * True when the device has given the chain back, or given up. One value each time round: an
 * emulated processor stops only between two rounds.
 */
static bool flip_some(const struct flip *flip)
{
    static bool bad;

    for (unsigned i = 0; i < FLIPS; i++) {
        if (disk.queue.rings->used.idx != disk.queue.seen)
            return true;
        bad = !bad;
        *flip->place = bad ? flip->bad : flip->good;
        full_barrier();
    }
    return reg_read(&disk.device, REG_STATUS) & STATUS_NEEDS_RESET;
}

static void flip_until_answered(const struct flip *flip)
{
    uint32_t status;

    blk_status = BLK_UNTOUCHED;
    virtq_offer(&disk.queue, 0);
    virtq_kick(&disk.queue);
    for (unsigned i = 0; i < PATIENCE && !flip_some(flip); i++)
        continue;
    status = blk_answer(&disk, &(uint32_t){0});
    expect(status == BLK_OK || status == BLK_IOERR || status == BLK_UNSUPP ||
               status == BLK_NEEDS_RESET,
        "neither an answer nor NEEDS_RESET");
    answers += status == BLK_OK;
    refusals += status == BLK_IOERR || status == BLK_UNSUPP;
    breakages += status == BLK_NEEDS_RESET;
}

static void race(unsigned index, uint32_t type, const struct flip *flip)
{
    uint16_t data_flags = type == BLK_IN ? DESC_WRITE : 0;

    answers = refusals = breakages = 0;
    memset(data, 0x5a, sizeof(data));
    blk_up(&disk, index, ~0ULL, SIZE);
    for (unsigned i = 0; i < ROUNDS; i++) {
        blk_header = (struct blk_header){.type = type};
        good_chain(data_flags);
        flip_until_answered(flip);
        if (reg_read(&disk.device, REG_STATUS) & STATUS_NEEDS_RESET)
            blk_up(&disk, index, ~0ULL, SIZE);
    }
    for (size_t i = 0; i < sizeof(data); i++) {
        if (i < MARGIN || i >= MARGIN + SECTOR_BYTES)
            expect_equal("a byte beside the buffer", data[i], 0x5a);
    }
    say("# %u answered, %u refused, %u broken\n", answers, refusals, breakages);
}

/* The place of the descriptor of the data: its address, or the eight bytes behind it. */
static volatile uint64_t *data_desc(unsigned word)
{
    blk_up(&disk, DISK_SCRATCH, ~0ULL, SIZE);
    return (volatile uint64_t *)&disk.queue.rings->desc[1] + word;
}

/* Length, flags and next of a descriptor as they lie in memory. */
static uint64_t rest(uint32_t bytes, uint16_t flags, uint16_t next)
{
    return bytes | (uint64_t)flags << 32 | (uint64_t)next << 48;
}

static void address(unsigned unused)
{
    const struct flip flip = {data_desc(0), (uint64_t)data + MARGIN, 1ULL << 62};

    (void)unused;
    race(DISK_SCRATCH, BLK_IN, &flip);
}

static void descriptor(unsigned which)
{
    const uint64_t bad[] = {rest(0xffffffff, DESC_NEXT | DESC_WRITE, 2),
        rest(SECTOR_BYTES, DESC_NEXT, 2), rest(SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 65535),
        rest(SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 1),
        rest(SECTOR_BYTES, DESC_INDIRECT | DESC_NEXT | DESC_WRITE, 2), rest(0, 0, 0)};
    const struct flip flip = {
        data_desc(1), rest(SECTOR_BYTES, DESC_NEXT | DESC_WRITE, 2), bad[which]};

    race(DISK_SCRATCH, BLK_IN, &flip);
}

/* The sector of the request, checked and then used. */
static void sector(unsigned unused)
{
    const struct flip flip = {(volatile uint64_t *)&blk_header.sector, 0, (1ULL << 55) - 1};

    (void)unused;
    race(DISK_SCRATCH, BLK_IN, &flip);
}

/* A read of the image that becomes a write. */
static void type(unsigned unused)
{
    const struct flip flip = {(volatile uint64_t *)&blk_header.type, BLK_IN, BLK_OUT};

    (void)unused;
    race(DISK_IMAGE, BLK_IN, &flip);
}

/* flags, avail.idx and the first two entries of the available ring. */
static void available(unsigned unused)
{
    volatile struct virtq_rings *rings;
    struct flip flip;

    (void)unused;
    answers = refusals = breakages = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        blk_up(&disk, DISK_SCRATCH, ~0ULL, SIZE);
        blk_header = (struct blk_header){.type = BLK_IN};
        good_chain(DESC_WRITE);
        rings = disk.queue.rings;
        flip.place = (volatile uint64_t *)&rings->avail_flags;
        flip.good = 1ULL << 16;                    /* one chain: head 0 */
        flip.bad = 40000ULL << 16 | 9999ULL << 32; /* too many, from nowhere */
        if (i % 2)
            flip.bad = 1ULL << 16 | 9999ULL << 32;
        flip_until_answered(&flip);
    }
    say("# %u answered, %u refused, %u broken\n", answers, refusals, breakages);
}

static const struct guest_case cases[] = {
    {"an address changed meanwhile", "2.7.5", address, 0},
    {"a length changed meanwhile", "2.7.5", descriptor, 0},
    {"a direction changed meanwhile", "2.7.5", descriptor, 1},
    {"next changed meanwhile, past the end", "2.7.5", descriptor, 2},
    {"next changed meanwhile, to itself", "2.7.5", descriptor, 3},
    {"INDIRECT changed meanwhile", "2.7.5", descriptor, 4},
    {"a descriptor emptied meanwhile", "2.7.5", descriptor, 5},
    {"a sector changed meanwhile", "5.2.6", sector, 0},
    {"a read that becomes a write meanwhile", "5.2.6", type, 0},
    {"the available ring changed meanwhile", "2.7.6", available, 0},
};

void villain_race(void)
{
    cases_run(cases, ARRAY_COUNT(cases), villain_disk_serves);
}
