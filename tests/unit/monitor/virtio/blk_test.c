/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/blk_disk.c */
/* blk_test.c: virtio-blk: shapes and ranges of requests, inside the limits and past them. */
#include "tests/unit/monitor/virtio/blk_disk.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

static void the_configuration_space(void **state)
{
    struct disk *f = *state;
    uint8_t bytes[8];

    mmio_read(&f->blk.device, REG_CONFIG, bytes, 8);
    assert_int_equal(le64_load(bytes), SECTORS);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 8), BLK_SEGMENT_MAX_BYTES);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 12), BLK_SEGMENTS_MAX);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 20), 512);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 36), BLK_RANGE_MAX_SECTORS);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 40), BLK_RANGES_MAX);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 44), 8);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 48), BLK_RANGE_MAX_SECTORS);
    assert_int_equal(driver_read(&f->driver, REG_CONFIG + 52), BLK_RANGES_MAX);
    mmio_read(&f->blk.device, REG_CONFIG + 56, bytes, 1);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(driver_read(&f->driver, REG_DEVICE_ID), 2);
}

static void odd_sizes_are_refused(void **state)
{
    static const uint64_t sizes[] = {0, 1, 511, 513, 1025, 1ULL << 63};
    struct disk *f = *state;
    struct blk_options options = {.name = "disk 2", .fd = f->fd};
    struct blk blk;
    struct err err;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        err = (struct err)ERR_INIT;
        options.bytes = sizes[i];
        assert_int_equal(blk_init(&blk, &options, &f->mem, &err), -1);
        assert_non_null(strstr(err.text, "disk 2"));
        assert_non_null(strstr(err.text, "512"));
        blk_fini(&blk);
    }
    err = (struct err)ERR_INIT;
    options.bytes = 512;
    assert_int_equal(blk_init(&blk, &options, &f->mem, &err), 0);
    blk_fini(&blk);
}

static void reads_stay_inside_the_disk(void **state)
{
    static const struct {
        uint64_t sector;
        uint32_t bytes;
        uint8_t status;
    } cases[] = {
        {0, 512, OK},
        {0, DISK_BYTES, OK},
        {SECTORS - 1, 512, OK},
        {SECTORS - 1, 1024, IOERR},
        {SECTORS, 512, IOERR},
        {0, DISK_BYTES + 512, IOERR},
        {1, DISK_BYTES, IOERR},
        {0, 511, IOERR},
        {0, 513, IOERR},
        {0, 1, IOERR},
        {UINT64_MAX, 512, IOERR},
        {UINT64_MAX / 512, 512, IOERR},
        {UINT64_MAX / 512 + 1, 512, IOERR}, /* wraps to sector 0 */
        {1ULL << 55, 512, IOERR},
        {1ULL << 63, 512, IOERR},
        {SECTORS, 0, OK}, /* nothing, at the end */
        {SECTORS + 1, 0, IOERR},
    };
    struct disk *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(disk_data(f, DISK_BYTES + 512), 0, DISK_BYTES + 512);
        assert_int_equal(disk_request(f, IN, cases[i].sector, cases[i].bytes), cases[i].status);
        for (uint64_t at = 0; at < DISK_BYTES + 512; at++) {
            bool read = cases[i].status == OK && at < cases[i].bytes;

            assert_int_equal(disk_data(f, DISK_BYTES + 512)[at],
                read ? disk_pattern(cases[i].sector * 512 + at) : 0);
        }
        assert_int_equal(f->used_length, cases[i].status == OK ? cases[i].bytes + 1
                                         : cases[i].bytes      ? 0
                                                               : 1);
    }
    assert_int_equal(f->failures, 0); /* the guest's fault, not the host's */
}

static void writes_stay_inside_the_disk(void **state)
{
    struct disk *f = *state;

    memset(disk_data(f, DISK_BYTES + 512), 0, DISK_BYTES + 512);
    assert_int_equal(disk_request(f, OUT, SECTORS, 512), IOERR);
    assert_int_equal(disk_request(f, OUT, SECTORS - 1, 1024), IOERR);
    assert_int_equal(disk_request(f, OUT, 1, DISK_BYTES), IOERR);
    assert_int_equal(disk_request(f, OUT, 0, 500), IOERR);
    assert_int_equal(disk_request(f, OUT, UINT64_MAX / 512 + 1, 512), IOERR);
    disk_assert_pattern(f, 0, DISK_BYTES);
    assert_int_equal(disk_request(f, OUT, SECTORS - 1, 512), OK);
    assert_int_equal(f->used_length, 1);
    disk_assert_pattern(f, 0, DISK_BYTES - 512);
    disk_assert_zero(f, DISK_BYTES - 512, 512);
    assert_int_equal(f->failures, 0);
}

static void requests_have_a_largest_size(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];
    const uint32_t part = 128 << 10;

    /* A sparse disk of 32 MiB, and more parts than RAM has: the same memory many times over. */
    blk_fini(&f->blk);
    assert_int_equal(ftruncate(f->fd, 32 << 20), 0);
    disk_open(f, false, F_ALL);
    for (uint32_t extra = 0; extra <= 1; extra++) {
        uint32_t parts = BLK_SEGMENTS_MAX;

        disk_put_header(f, IN, 0);
        ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
        for (uint32_t i = 0; i < parts; i++)
            ring_describe(ring, (uint16_t)(i + 1), DATA, part + (i == 0 ? extra * 512 : 0),
                DESC_NEXT | DESC_WRITE, (uint16_t)(i + 2));
        ring_describe(ring, (uint16_t)(parts + 1), STATUS, 1, DESC_WRITE, 0);
        assert_int_equal(disk_finish(f), extra ? IOERR : OK);
    }
}

static void data_in_many_pieces(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];

    /* The header in three, data in pieces of 1 to 47 bytes, the last shared with the status. */
    disk_put_header(f, IN, 3);
    ring_describe(ring, 0, HEADER, 1, DESC_NEXT, 1);
    ring_describe(ring, 1, HEADER + 1, 11, DESC_NEXT, 2);
    ring_describe(ring, 2, HEADER + 12, 4, DESC_NEXT, 3);
    for (uint16_t i = 0, at = 0; at < 1025; i++) {
        uint16_t bytes = (uint16_t)(1025 - at < 1 + i ? 1025 - at : 1 + i);

        ring_describe(ring, (uint16_t)(3 + i), DATA + 2ULL * at, bytes,
            (uint16_t)(DESC_WRITE | (at + bytes < 1025 ? DESC_NEXT : 0)), (uint16_t)(4 + i));
        at = (uint16_t)(at + bytes);
    }
    memset(disk_data(f, 4096), 0xaa, 4096);
    (void)disk_finish(f);
    assert_int_equal(f->used_length, 1025);
    for (uint16_t i = 0, at = 0; at < 1025; i++) {
        uint16_t bytes = (uint16_t)(1025 - at < 1 + i ? 1025 - at : 1 + i);

        for (uint16_t j = 0; j < bytes; j++)
            assert_int_equal(disk_data(f, 4096)[2 * at + j],
                at + j < 1024 ? disk_pattern(3 * 512 + at + j) : OK);
        assert_int_equal(disk_data(f, 4096)[2 * at + bytes], 0xaa);
        at = (uint16_t)(at + bytes);
    }
}

static void header_and_data_may_share_a_descriptor(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];

    disk_put_header(f, OUT, 5);
    memset(fake_ram_at(&f->mem, HEADER + 16, 512), 0, 512);
    ring_describe(ring, 0, HEADER, 16 + 512, DESC_NEXT, 1);
    ring_describe(ring, 1, STATUS + 0x1000, 1, DESC_WRITE, 0);
    *fake_ram_at(&f->mem, STATUS + 0x1000, 1) = NO_STATUS;
    (void)disk_finish(f);
    assert_int_equal(*fake_ram_at(&f->mem, STATUS + 0x1000, 1), OK);
    disk_assert_zero(f, 5 * 512, 512);
    disk_assert_pattern(f, 6 * 512, 512);
}

static void a_short_header_is_an_error(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];

    disk_put_header(f, FLUSH, 0);
    ring_describe(ring, 0, HEADER, 15, DESC_NEXT, 1);
    ring_describe(ring, 1, STATUS, 1, DESC_WRITE, 0);
    assert_int_equal(disk_finish(f), IOERR);
    /* None at all. */
    disk_put_header(f, FLUSH, 0);
    ring_describe(ring, 0, STATUS, 1, DESC_WRITE, 0);
    assert_int_equal(disk_finish(f), IOERR);
    disk_put_header(f, FLUSH, 0);
    ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
    assert_int_equal(disk_finish(f), OK);
}

static void a_request_without_a_status_breaks_the_device(void **state)
{
    struct disk *f = *state;

    disk_put_header(f, FLUSH, 0);
    ring_describe(&f->driver.rings[0], 0, HEADER, 16, 0, 0);
    (void)disk_finish(f);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), RUNNING | NEEDS_RESET);
    assert_non_null(strstr(f->blk.device.breakage.text, "disk 1: request without room"));
}

static void data_in_the_wrong_direction(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];

    disk_put_header(f, IN, 0);
    ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
    ring_describe(ring, 1, DATA, 512, DESC_NEXT, 2);
    ring_describe(ring, 2, STATUS, 1, DESC_WRITE, 0);
    assert_int_equal(disk_finish(f), IOERR);
    disk_put_header(f, OUT, 0);
    ring_describe(ring, 1, DATA, 512, DESC_NEXT | DESC_WRITE, 2);
    assert_int_equal(disk_finish(f), IOERR);
    disk_assert_pattern(f, 0, DISK_BYTES);
}

static void unknown_types_are_unsupported(void **state)
{
    static const uint32_t types[] = {2, 3, 5, 6, 7, 9, 10, 12, 14, 15, 18, 0x80000000, UINT32_MAX};
    struct disk *f = *state;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_equal(disk_request(f, types[i], 0, 0), UNSUPP);
        assert_int_equal(disk_request(f, types[i], 0, 512), UNSUPP);
    }
    disk_assert_pattern(f, 0, DISK_BYTES);
}

static void the_id_has_twenty_bytes(void **state)
{
    struct disk *f = *state;

    memset(disk_data(f, 64), 0xaa, 64);
    assert_int_equal(disk_request(f, GET_ID, 0, 19), IOERR);
    assert_int_equal(disk_data(f, 1)[0], 0xaa);
    assert_int_equal(disk_request(f, GET_ID, 0, 20), OK);
    assert_memory_equal(disk_data(f, 21), "vmrun-disk-1\0\0\0\0\0\0\0\0\xaa", 21);
    assert_int_equal(f->used_length, 20);
    assert_int_equal(disk_request(f, GET_ID, 0, 21), OK);
    assert_int_equal(disk_data(f, 21)[20], 0xaa);
}

#define BLK_TEST(name) cmocka_unit_test_setup_teardown(name, disk_set_up, disk_tear_down)

static const struct CMUnitTest tests[] = {
    BLK_TEST(the_configuration_space),
    BLK_TEST(odd_sizes_are_refused),
    BLK_TEST(reads_stay_inside_the_disk),
    BLK_TEST(writes_stay_inside_the_disk),
    BLK_TEST(requests_have_a_largest_size),
    BLK_TEST(data_in_many_pieces),
    BLK_TEST(header_and_data_may_share_a_descriptor),
    BLK_TEST(a_short_header_is_an_error),
    BLK_TEST(a_request_without_a_status_breaks_the_device),
    BLK_TEST(data_in_the_wrong_direction),
    BLK_TEST(unknown_types_are_unsupported),
    BLK_TEST(the_id_has_twenty_bytes),
};

UNIT_MAIN(tests)
