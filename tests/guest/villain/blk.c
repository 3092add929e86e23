/* SPDX-License-Identifier: Apache-2.0 */
/* blk.c: virtio-blk requests, wrongly (virtio 1.2 §5.2.6). */
#include "villain/villain.h"

#define disk villain_disk

static uint8_t data[64 * KIB] __attribute__((aligned(4096)));

static void up(void)
{
    blk_up(&disk, DISK_SCRATCH, ~0ULL, BLK_QUEUE_SIZE);
    memset(data, 0x5a, sizeof(data));
}

static void expect_untouched(void)
{
    for (size_t i = 0; i < sizeof(data); i++)
        expect_equal("a byte of a refused read", data[i], 0x5a);
}

/* ---- sectors ---- */

/* Relative to the capacity, and absolute. */
static const struct {
    uint64_t sector;
    bool from_end;
    uint32_t sectors;
    uint32_t status;
} places[] = {
    {-1ULL, true, 1, BLK_OK},
    {0, true, 1, BLK_IOERR},
    {-1ULL, true, 2, BLK_IOERR},
    {1, true, 1, BLK_IOERR},
    {1ULL << 32, false, 1, BLK_IOERR},
    {1ULL << 54, false, 1, BLK_IOERR}, /* 2^63 bytes */
    {1ULL << 55, false, 1, BLK_IOERR}, /* 2^64 bytes: 0 when it wraps */
    {(1ULL << 55) + 7, false, 1, BLK_IOERR},
    {(1ULL << 55) - 1, false, 1, BLK_IOERR},
    {(1ULL << 55) - 1, false, 2, BLK_IOERR}, /* ends where it wraps */
    {1ULL << 63, false, 1, BLK_IOERR},
    {-1ULL, false, 1, BLK_IOERR},
    {-1ULL, false, 2, BLK_IOERR},
};

static void sector(unsigned which)
{
    static const uint32_t types[] = {BLK_IN, BLK_OUT};
    uint64_t at;

    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        up();
        at = places[which].sector + (places[which].from_end ? blk_sectors(&disk) : 0);
        expect_equal("the answer",
            blk_request(&disk, types[i], at, data, places[which].sectors * SECTOR_BYTES),
            places[which].status);
        if (places[which].status != BLK_OK)
            expect_untouched();
    }
}

static void length(unsigned bytes)
{
    up();
    expect_equal("read", blk_request(&disk, BLK_IN, 0, data, bytes), BLK_IOERR);
    expect_equal("write", blk_request(&disk, BLK_OUT, 0, data, bytes), BLK_IOERR);
    expect_untouched();
}

/* One sector more than the device takes in one request, in few buffers. */
static void too_long(unsigned unused)
{
    struct piece pieces[4] = {{&blk_header, BLK_HEADER_BYTES, false},
        {(void *)(4 * MIB), 16 * MIB, true}, {(void *)(4 * MIB), SECTOR_BYTES, true},
        {&blk_status, 1, true}};
    uint32_t bytes;

    (void)unused;
    up();
    blk_header = (struct blk_header){.type = BLK_IN};
    blk_send(&disk, pieces, 4);
    expect_equal("the answer", blk_answer(&disk, &bytes), BLK_IOERR);
}

/* ---- shapes of requests ---- */

/* TYPE with PIECES; the answer and the used length. */
static void expect_answer(
    uint32_t type, const struct piece *pieces, unsigned count, uint32_t status)
{
    uint32_t bytes = 0;

    blk_header = (struct blk_header){.type = type};
    blk_send(&disk, pieces, count);
    expect_equal("the answer", blk_answer(&disk, &bytes), status);
}

/* The header in 1 to 16 pieces. */
static void header_split(unsigned unused)
{
    (void)unused;
    for (unsigned first = 1; first < BLK_HEADER_BYTES; first++) {
        const uint8_t *header = (const uint8_t *)&blk_header;
        const struct piece pieces[] = {{header, first, false},
            {header + first, BLK_HEADER_BYTES - first, false}, {data, SECTOR_BYTES, true},
            {&blk_status, 1, true}};

        up();
        expect_answer(BLK_IN, pieces, ARRAY_COUNT(pieces), BLK_OK);
    }
}

static void header_in_bytes(unsigned unused)
{
    struct piece pieces[BLK_HEADER_BYTES + 2];

    (void)unused;
    blk_up(&disk, DISK_SCRATCH, ~0ULL, 32);
    for (unsigned i = 0; i < BLK_HEADER_BYTES; i++)
        pieces[i] = (struct piece){(const uint8_t *)&blk_header + i, 1, false};
    pieces[BLK_HEADER_BYTES] = (struct piece){data, SECTOR_BYTES, true};
    pieces[BLK_HEADER_BYTES + 1] = (struct piece){&blk_status, 1, true};
    expect_answer(BLK_IN, pieces, ARRAY_COUNT(pieces), BLK_OK);
}

static void header_short(unsigned bytes)
{
    const struct piece pieces[] = {
        {&blk_header, bytes, false}, {data, SECTOR_BYTES, true}, {&blk_status, 1, true}};

    up();
    expect_answer(BLK_IN, pieces, ARRAY_COUNT(pieces), BLK_IOERR);
    expect_untouched();
}

static void no_header(unsigned unused)
{
    const struct piece pieces[] = {{data, SECTOR_BYTES, true}, {&blk_status, 1, true}};

    (void)unused;
    up();
    expect_answer(BLK_IN, pieces, ARRAY_COUNT(pieces), BLK_IOERR);
    expect_untouched();
}

/* Header and data of a write in one buffer (§2.7.4: no assumption on the framing). */
static void header_with_data(unsigned unused)
{
    static struct {
        struct blk_header header;
        uint8_t data[SECTOR_BYTES];
    } both;
    const struct piece pieces[] = {{&both, sizeof(both), false}, {&blk_status, 1, true}};

    (void)unused;
    up();
    both.header = (struct blk_header){.type = BLK_OUT, .sector = 9};
    memset(both.data, 0xa5, sizeof(both.data));
    expect_answer(BLK_OUT, pieces, ARRAY_COUNT(pieces), BLK_OK);
    expect_equal("read", blk_request(&disk, BLK_IN, 9, data, SECTOR_BYTES), BLK_OK);
    expect(memcmp(both.data, data, SECTOR_BYTES) == 0, "what was written is not what is read");
}

/* The status in the same buffer as the data, and its byte alone is the last. */
static void status_with_data(unsigned unused)
{
    static uint8_t both[SECTOR_BYTES + 1];
    const struct piece pieces[] = {
        {&blk_header, BLK_HEADER_BYTES, false}, {both, sizeof(both), true}};
    uint32_t bytes = 0;

    (void)unused;
    up();
    both[SECTOR_BYTES] = BLK_UNTOUCHED;
    blk_header = (struct blk_header){.type = BLK_IN};
    blk_send(&disk, pieces, ARRAY_COUNT(pieces));
    (void)blk_answer(&disk, &bytes);
    expect_equal("used length", bytes, sizeof(both));
    expect_equal("status byte", both[SECTOR_BYTES], BLK_OK);
}

/* There is nowhere to answer (§5.2.6): the device breaks off. */
static void status_nowhere(unsigned which)
{
    const struct piece pieces[] = {
        {&blk_header, BLK_HEADER_BYTES, false}, {data, SECTOR_BYTES, false}};

    up();
    blk_header = (struct blk_header){.type = which};
    blk_send(&disk, pieces, which == BLK_FLUSH ? 1 : 2);
    expect_broken(&disk.device);
    expect_untouched();
}

/* Data in the direction that the type does not have. */
static void wrong_direction(unsigned type)
{
    const struct piece pieces[] = {{&blk_header, BLK_HEADER_BYTES, false},
        {data, SECTOR_BYTES, type == BLK_OUT}, {&blk_status, 1, true}};

    up();
    expect_answer(type, pieces, ARRAY_COUNT(pieces), BLK_IOERR);
    expect_untouched();
}

static void both_directions(unsigned type)
{
    const struct piece pieces[] = {{&blk_header, BLK_HEADER_BYTES, false},
        {data, SECTOR_BYTES, false}, {data + 4096, SECTOR_BYTES, true}, {&blk_status, 1, true}};

    up();
    expect_answer(type, pieces, ARRAY_COUNT(pieces), BLK_IOERR);
    expect_untouched();
}

static void unknown_type(unsigned type)
{
    up();
    expect_equal("without data", blk_request(&disk, type, 0, NULL, 0), BLK_UNSUPP);
    expect_equal("with data", blk_request(&disk, type, 0, data, SECTOR_BYTES), BLK_UNSUPP);
    expect_untouched();
}

static void get_id(unsigned bytes)
{
    up();
    expect_equal("the answer", blk_request(&disk, BLK_GET_ID, 0, data, bytes),
        bytes < 20 ? BLK_IOERR : BLK_OK);
    if (bytes < 20)
        expect_untouched();
    expect_equal("behind the id", data[bytes], 0x5a);
}

/* ---- DISCARD and WRITE_ZEROES ---- */

static const struct {
    struct blk_range range;
    bool from_end;
    uint32_t discard, write_zeroes;
} ranges[] = {
    {{0, 0, 0}, false, BLK_OK, BLK_OK},
    {{-1ULL, 1, 0}, true, BLK_OK, BLK_OK},
    {{0, 1, 0}, true, BLK_IOERR, BLK_IOERR},
    {{-1ULL, 2, 0}, true, BLK_IOERR, BLK_IOERR},
    {{1ULL << 55, 1, 0}, false, BLK_IOERR, BLK_IOERR},
    {{-1ULL, 1, 0}, false, BLK_IOERR, BLK_IOERR},
    {{-1ULL, 0xffffffff, 0}, false, BLK_IOERR, BLK_IOERR},
    {{0, 0xffffffff, 0}, false, BLK_IOERR, BLK_IOERR},
    {{0, 1, 1}, false, BLK_UNSUPP, BLK_OK}, /* unmap is for WRITE_ZEROES alone */
    {{0, 1, 2}, false, BLK_UNSUPP, BLK_UNSUPP},
    {{0, 1, 0xffffffff}, false, BLK_UNSUPP, BLK_UNSUPP},
};

static void range(unsigned which)
{
    static struct blk_range one;

    up();
    one = ranges[which].range;
    if (ranges[which].from_end)
        one.sector += blk_sectors(&disk);
    expect_equal(
        "discard", blk_request(&disk, BLK_DISCARD, 0, &one, sizeof(one)), ranges[which].discard);
    expect_equal("write zeroes", blk_request(&disk, BLK_WRITE_ZEROES, 0, &one, sizeof(one)),
        ranges[which].write_zeroes);
}

static void range_bytes(unsigned bytes)
{
    up();
    memset(data, 0, sizeof(data));
    expect_equal("discard", blk_request(&disk, BLK_DISCARD, 0, data, bytes), BLK_IOERR);
    expect_equal("write zeroes", blk_request(&disk, BLK_WRITE_ZEROES, 0, data, bytes), BLK_IOERR);
}

/* One wrong range of two: nothing is done. */
static void range_second_wrong(unsigned unused)
{
    static struct blk_range two[2];

    (void)unused;
    up();
    expect_equal("write", blk_request(&disk, BLK_OUT, 0, data, SECTOR_BYTES), BLK_OK);
    two[0] = (struct blk_range){0, 8, 0};
    two[1] = (struct blk_range){blk_sectors(&disk), 8, 0};
    expect_equal(
        "write zeroes", blk_request(&disk, BLK_WRITE_ZEROES, 0, two, sizeof(two)), BLK_IOERR);
    memset(data, 0, SECTOR_BYTES);
    expect_equal("read", blk_request(&disk, BLK_IN, 0, data, SECTOR_BYTES), BLK_OK);
    expect_untouched();
}

static void range_not_negotiated(unsigned type)
{
    static struct blk_range one = {0, 8, 0};

    blk_up(&disk, DISK_SCRATCH, 0, BLK_QUEUE_SIZE);
    expect_equal("the answer", blk_request(&disk, type, 0, &one, sizeof(one)), BLK_UNSUPP);
}

/* ---- the read-only disk ---- */

/* TYPE on the image, with or without F_RO: refused, and the image is what it was. */
static void readonly(unsigned type)
{
    static uint8_t before[4096], after[4096];
    static struct blk_range one = {0, 8, 0};
    const uint64_t features[] = {~0ULL, 0, BLK_F_RO, ~BLK_F_RO};
    uint32_t status;

    for (size_t i = 0; i < ARRAY_COUNT(features); i++) {
        blk_up(&disk, DISK_IMAGE, features[i], BLK_QUEUE_SIZE);
        expect(features_offered(&disk.device) & BLK_F_RO, "the image is not offered as read-only");
        expect_equal("read", blk_request(&disk, BLK_IN, 0, before, sizeof(before)), BLK_OK);
        memset(data, 0x5a, sizeof(data));
        if (type == BLK_OUT)
            status = blk_request(&disk, type, 0, data, sizeof(before));
        else
            status = blk_request(&disk, type, 0, &one, sizeof(one));
        expect_equal("the answer", status, BLK_IOERR);
        expect_equal("flush", blk_request(&disk, BLK_FLUSH, 0, NULL, 0), BLK_OK);
        expect_equal("read", blk_request(&disk, BLK_IN, 0, after, sizeof(after)), BLK_OK);
        expect(memcmp(before, after, sizeof(after)) == 0, "the image has changed");
    }
}

static void readonly_unknown(unsigned type)
{
    blk_up(&disk, DISK_IMAGE, ~0ULL, BLK_QUEUE_SIZE);
    expect_equal("the answer", blk_request(&disk, type, 0, NULL, 0), BLK_UNSUPP);
    expect_equal("id", blk_request(&disk, BLK_GET_ID, 0, data, 20), BLK_OK);
}

static const struct guest_case cases[] = {
    {"the last sector", "5.2.6.2", sector, 0},
    {"one sector past the end", "5.2.6.2", sector, 1},
    {"across the end", "5.2.6.2", sector, 2},
    {"two sectors past the end", "5.2.6.2", sector, 3},
    {"sector 2^32", "5.2.6.2", sector, 4},
    {"sector 2^54", "5.2.6.2", sector, 5},
    {"sector 2^55, byte 0 when it wraps", "5.2.6.2", sector, 6},
    {"sector 2^55 + 7", "5.2.6.2", sector, 7},
    {"sector 2^55 - 1", "5.2.6.2", sector, 8},
    {"across sector 2^55", "5.2.6.2", sector, 9},
    {"sector 2^63", "5.2.6.2", sector, 10},
    {"sector 2^64 - 1", "5.2.6.2", sector, 11},
    {"across sector 2^64", "5.2.6.2", sector, 12},
    {"1 byte of data", "5.2.6.1", length, 1},
    {"511 bytes of data", "5.2.6.1", length, 511},
    {"513 bytes of data", "5.2.6.1", length, 513},
    {"65535 bytes of data", "5.2.6.1", length, 65535},
    {"more than size_max times seg_max", "5.2.5", too_long, 0},
    {"header in two pieces", "2.7.4", header_split, 0},
    {"header in 16 pieces", "2.7.4", header_in_bytes, 0},
    {"header of 1 byte", "5.2.6", header_short, 1},
    {"header of 8 bytes", "5.2.6", header_short, 8},
    {"header of 15 bytes", "5.2.6", header_short, 15},
    {"no header", "5.2.6", no_header, 0},
    {"header and data in one buffer", "2.7.4", header_with_data, 0},
    {"data and status in one buffer", "2.7.4", status_with_data, 0},
    {"status nowhere: read", "5.2.6", status_nowhere, BLK_IN},
    {"status nowhere: write", "5.2.6", status_nowhere, BLK_OUT},
    {"status nowhere: flush", "5.2.6", status_nowhere, BLK_FLUSH},
    {"status nowhere: unknown type", "5.2.6", status_nowhere, 99},
    {"a read into a readable buffer", "5.2.6", wrong_direction, BLK_IN},
    {"a write from a writable buffer", "5.2.6", wrong_direction, BLK_OUT},
    {"a read with data both ways", "5.2.6", both_directions, BLK_IN},
    {"a write with data both ways", "5.2.6", both_directions, BLK_OUT},
    {"type 2, SCSI of old", "5.2.6.2", unknown_type, 2},
    {"type 3", "5.2.6.2", unknown_type, 3},
    {"type 5, flush of old", "5.2.6.2", unknown_type, 5},
    {"type 9", "5.2.6.2", unknown_type, 9},
    {"type 10, GET_LIFETIME", "5.2.6.2", unknown_type, 10},
    {"type 12", "5.2.6.2", unknown_type, 12},
    {"type 14, SECURE_ERASE", "5.2.6.2", unknown_type, BLK_SECURE_ERASE},
    {"type 2^31, barrier of old", "5.2.6.2", unknown_type, 1U << 31},
    {"type 2^32 - 1", "5.2.6.2", unknown_type, 0xffffffff},
    {"id into 1 byte", "5.2.6.1", get_id, 1},
    {"id into 19 bytes", "5.2.6.1", get_id, 19},
    {"id into 20 bytes", "5.2.6.1", get_id, 20},
    {"range of 0 sectors", "5.2.6.2", range, 0},
    {"range of the last sector", "5.2.6.2", range, 1},
    {"range past the end", "5.2.6.2", range, 2},
    {"range across the end", "5.2.6.2", range, 3},
    {"range at sector 2^55", "5.2.6.2", range, 4},
    {"range at sector 2^64 - 1", "5.2.6.2", range, 5},
    {"range that wraps", "5.2.6.2", range, 6},
    {"range of 2^32 - 1 sectors", "5.2.6.2", range, 7},
    {"range with unmap", "5.2.6.2", range, 8},
    {"range with a reserved flag", "5.2.6.2", range, 9},
    {"range with all flags", "5.2.6.2", range, 10},
    {"half a range", "5.2.6.2", range_bytes, 8},
    {"a range and a byte", "5.2.6.2", range_bytes, 17},
    {"17 ranges", "5.2.6.2", range_bytes, 17 * 16},
    {"4096 ranges", "5.2.6.2", range_bytes, 4096 * 16 - 16},
    {"the second range wrong", "5.2.6.2", range_second_wrong, 0},
    {"DISCARD that was not negotiated", "5.2.6.2", range_not_negotiated, BLK_DISCARD},
    {"WRITE_ZEROES that was not negotiated", "5.2.6.2", range_not_negotiated, BLK_WRITE_ZEROES},
    {"a write to the read-only disk", "5.2.6.2", readonly, BLK_OUT},
    {"DISCARD on the read-only disk", "5.2.6.2", readonly, BLK_DISCARD},
    {"WRITE_ZEROES on the read-only disk", "5.2.6.2", readonly, BLK_WRITE_ZEROES},
    {"an unknown type on the read-only disk", "5.2.6.2", readonly_unknown, 77},
};

void villain_blk(void)
{
    cases_run(cases, ARRAY_COUNT(cases), villain_disk_serves);
}
