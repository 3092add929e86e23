/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/blk_disk.c */
/* blk_change_test.c: virtio-blk: what frees or zeroes ranges, and what must not change a disk. */
#include "tests/unit/monitor/virtio/blk_disk.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void ranges_are_checked(void **state)
{
    static const struct {
        uint64_t sector;
        uint32_t sectors;
        uint32_t flags;
        uint8_t discard, zeroes;
    } cases[] = {
        {0, SECTORS + 1, 0, IOERR, IOERR},
        {SECTORS, 1, 0, IOERR, IOERR},
        {UINT64_MAX, 1, 0, IOERR, IOERR},
        {UINT64_MAX / 512 + 1, 1, 0, IOERR, IOERR},
        {0, UINT32_MAX, 0, IOERR, IOERR},
        {0, BLK_RANGE_MAX_SECTORS + 1, 0, IOERR, IOERR},
        {0, 1, 2, UNSUPP, UNSUPP},
        {0, 1, 0x80000000, UNSUPP, UNSUPP},
        {SECTORS, 0, 0, OK, OK},
        {SECTORS + 1, 0, 0, IOERR, IOERR},
    };
    struct disk *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        disk_put_range(f, 0, 8, 8, 0); /* the first is right: it must not be done either */
        disk_put_range(f, 1, cases[i].sector, cases[i].sectors, cases[i].flags);
        if (cases[i].discard != OK) {
            assert_int_equal(disk_request(f, DISCARD, 0, 32), cases[i].discard);
            assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 32), cases[i].zeroes);
        } else {
            disk_put_range(f, 0, 8, 0, 0);
            assert_int_equal(disk_request(f, DISCARD, 0, 32), OK);
            assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 32), OK);
        }
        disk_assert_pattern(f, 0, DISK_BYTES);
    }
    disk_put_range(f, 0, 0, 8, 1);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), UNSUPP); /* UNMAP means nothing to DISCARD */
    disk_assert_pattern(f, 0, DISK_BYTES);
}

static void ranges_have_a_largest_size(void **state)
{
    struct disk *f = *state;

    blk_fini(&f->blk);
    assert_int_equal(ftruncate(f->fd, 4LL << 30), 0);
    disk_open(f, false, F_ALL);
    disk_put_range(f, 0, 0, BLK_RANGE_MAX_SECTORS + 1, 0);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), IOERR);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16), IOERR);
    disk_assert_pattern(f, 0, DISK_BYTES);
    disk_put_range(f, 0, 0, BLK_RANGE_MAX_SECTORS, 0);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), OK);
    disk_assert_zero(f, 0, DISK_BYTES);
}

static void ranges_become_zero(void **state)
{
    struct disk *f = *state;
    struct stat before, after;

    assert_int_equal(fstat(f->fd, &before), 0);
    disk_put_range(f, 0, 8, 8, 0);
    disk_put_range(f, 1, 32, 16, 0);
    assert_int_equal(
        disk_request(f, DISCARD, 99999, 32), OK); /* the sector of the header is not used */
    disk_assert_zero(f, 8 * 512, 8 * 512);
    disk_assert_zero(f, 32 * 512, 16 * 512);
    disk_assert_pattern(f, 0, 8 * 512);
    disk_assert_pattern(f, 16 * 512, 16 * 512);
    disk_assert_pattern(f, 48 * 512, 16 * 512);
    assert_int_equal(fstat(f->fd, &after), 0);
    assert_int_equal(after.st_size, DISK_BYTES);
    assert_true(after.st_blocks < before.st_blocks);
    disk_put_range(f, 0, 1, 1, 0);
    disk_put_range(f, 1, SECTORS - 1, 1, 1);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 32), OK);
    disk_assert_zero(f, 512, 512);
    disk_assert_zero(f, DISK_BYTES - 512, 512);
    disk_assert_pattern(f, 0, 512);
    disk_assert_pattern(f, 1024, 512);
    assert_int_equal(fstat(f->fd, &after), 0);
    assert_int_equal(after.st_size, DISK_BYTES);
}

static void ranges_are_counted(void **state)
{
    struct disk *f = *state;

    for (uint32_t i = 0; i <= BLK_RANGES_MAX; i++)
        disk_put_range(f, i, i, 1, 0);
    assert_int_equal(disk_request(f, DISCARD, 0, 0), IOERR);
    assert_int_equal(disk_request(f, DISCARD, 0, 15), IOERR);
    assert_int_equal(disk_request(f, DISCARD, 0, 17), IOERR);
    assert_int_equal(disk_request(f, DISCARD, 0, 16 * (BLK_RANGES_MAX + 1)), IOERR);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16 * (BLK_RANGES_MAX + 1)), IOERR);
    disk_assert_pattern(f, 0, DISK_BYTES);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16 * BLK_RANGES_MAX), OK);
    disk_assert_zero(f, 0, BLK_RANGES_MAX * 512);
    disk_assert_pattern(f, BLK_RANGES_MAX * 512, 512);
}

static void what_was_not_negotiated_is_unsupported(void **state)
{
    struct disk *f = *state;

    disk_open(f, false, F_FLUSH);
    disk_put_range(f, 0, 0, 8, 0);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), UNSUPP);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16), UNSUPP);
    disk_open(f, false, F_ZEROES);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), UNSUPP);
    disk_assert_pattern(f, 0, DISK_BYTES);
    assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16), OK);
}

/* Whether the driver acknowledged F_RO or not, and with a file that could be written. */
static void a_readonly_disk_is_not_changed(void **state)
{
    static const uint64_t features[] = {0, F_RO, F_RO | F_FLUSH};
    struct disk *f = *state;

    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        disk_open(f, true, features[i]);
        disk_put_range(f, 0, 0, 8, 0);
        assert_int_equal(disk_request(f, OUT, 0, 512), IOERR);
        assert_int_equal(disk_request(f, OUT, 0, 0), IOERR);
        assert_int_equal(disk_request(f, DISCARD, 0, 16), IOERR);
        assert_int_equal(disk_request(f, WRITE_ZEROES, 0, 16), IOERR);
        disk_assert_pattern(f, 0, DISK_BYTES);
        assert_int_equal(disk_request(f, FLUSH, 0, 0), OK);
        assert_int_equal(disk_request(f, GET_ID, 0, 20), OK);
        assert_int_equal(disk_request(f, IN, 0, 512), OK);
        assert_int_equal(disk_data(f, 1)[0], disk_pattern(0));
    }
    /* Neither DISCARD nor WRITE_ZEROES is offered. */
    driver_negotiate(&f->driver, VIRTIO_F_VERSION_1 | F_DISCARD);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), ACKNOWLEDGE | DRIVER);
    driver_negotiate(&f->driver, VIRTIO_F_VERSION_1 | F_ZEROES);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), ACKNOWLEDGE | DRIVER);
}

static void a_disk_on_a_readonly_fd(void **state)
{
    struct disk *f = *state;
    char path[64];
    int writable = f->fd;

    assert_true(snprintf(path, sizeof(path), "/proc/self/fd/%d", writable) > 0);
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(f->fd >= 0);
    disk_open(f, true, 0);
    assert_int_equal(disk_request(f, IN, 0, 512), OK);
    assert_int_equal(disk_request(f, OUT, 0, 512), IOERR);
    assert_int_equal(f->failures, 0);
    close(writable);
}

static void flush_succeeds(void **state)
{
    struct disk *f = *state;

    assert_int_equal(disk_request(f, FLUSH, 0, 0), OK);
    assert_int_equal(f->used_length, 1);
    disk_open(f, false, 0);
    assert_int_equal(disk_request(f, FLUSH, 0, 0), OK);
}

#define BLK_TEST(name) cmocka_unit_test_setup_teardown(name, disk_set_up, disk_tear_down)

static const struct CMUnitTest tests[] = {
    BLK_TEST(ranges_are_checked),
    BLK_TEST(ranges_have_a_largest_size),
    BLK_TEST(ranges_become_zero),
    BLK_TEST(ranges_are_counted),
    BLK_TEST(what_was_not_negotiated_is_unsupported),
    BLK_TEST(a_readonly_disk_is_not_changed),
    BLK_TEST(a_disk_on_a_readonly_fd),
    BLK_TEST(flush_succeeds),
};

UNIT_MAIN(tests)
