/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/blk_disk.c */
/* blk_host_test.c: virtio-blk: errors of the host, work per doorbell, resets. */
#include "tests/unit/monitor/virtio/blk_disk.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void a_shorter_file_is_the_hosts_fault(void **state)
{
    struct disk *f = *state;

    assert_int_equal(ftruncate(f->fd, DISK_BYTES - 512), 0);
    assert_false(err_is_set(&f->blk.host_error));
    assert_int_equal(disk_request(f, IN, 0, DISK_BYTES - 512), OK);
    assert_int_equal(disk_request(f, IN, 0, DISK_BYTES), IOERR);
    assert_int_equal(f->failures, 1);
    assert_true(err_is_set(&f->blk.host_error));
    assert_non_null(strstr(f->blk.host_error.text, "disk 1: ends at byte 32256"));
    assert_int_equal(disk_request(f, IN, SECTORS - 1, 512), IOERR);
    assert_int_equal(f->failures, 1);                               /* only the first is told */
    assert_int_equal(driver_read(&f->driver, REG_STATUS), RUNNING); /* the device goes on */
}

static void a_full_host_is_the_hosts_fault(void **state)
{
    struct disk *f = *state;
    struct rlimit before, limit;

    /* RLIMIT_FSIZE in place of a full file system: a partial write, then an error. */
    assert_int_equal(signal(SIGXFSZ, SIG_IGN) == SIG_ERR, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1024;
    memset(disk_data(f, 2048), 0, 2048);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(disk_request(f, OUT, 0, 2048), IOERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f->failures, 1);
    assert_int_equal(f->blk.host_error.errnum, EFBIG);
    assert_non_null(strstr(f->blk.host_error.text, "cannot write at byte 1024"));
    disk_assert_zero(f, 0, 1024);
    disk_assert_pattern(f, 1024, 1024);
}

static void a_bad_fd_is_the_hosts_fault(void **state)
{
    struct disk *f = *state;

    f->blk.options.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(disk_request(f, IN, 0, 512), IOERR);
    assert_int_equal(f->blk.host_error.errnum, EBADF);
    close(f->blk.options.fd);
}

static void a_flush_does_not_touch_the_file(void **state)
{
    struct disk *f = *state;

    f->blk.options.fd = open("/dev/null", O_WRONLY | O_CLOEXEC); /* which cannot be synced */
    assert_int_equal(disk_request(f, FLUSH, 0, 0), OK);
    assert_int_equal(f->failures, 0);
    close(f->blk.options.fd);
}

static void a_hole_that_fails(void **state)
{
    struct disk *f = *state;
    int pipe_fds[2];

    assert_int_equal(pipe(pipe_fds), 0);
    f->blk.options.fd = pipe_fds[1];
    disk_put_range(f, 0, 0, 8, 0);
    assert_int_equal(disk_request(f, DISCARD, 0, 16), IOERR);
    assert_int_equal(f->blk.host_error.errnum, ESPIPE);
    assert_non_null(strstr(f->blk.host_error.text, "disk 1: cannot punch a hole"));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void many_requests_at_once(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];
    uint32_t head, length;

    disk_put_header(f, IN, 0);
    ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
    ring_describe(ring, 1, DATA, 512, DESC_NEXT | DESC_WRITE, 2);
    ring_describe(ring, 2, STATUS, 1, DESC_WRITE, 0);
    for (int i = 0; i < 128; i++)
        ring_offer(ring, 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    mmio_kick(&f->blk.device);
    for (int i = 0; i < BLK_BATCH_MAX_REQUESTS; i++)
        assert_true(ring_take(ring, &head, &length));
    assert_false(ring_take(ring, &head, &length));
    driver_settle(&f->driver);
    for (int i = BLK_BATCH_MAX_REQUESTS; i < 128; i++)
        assert_true(ring_take(ring, &head, &length));
    assert_false(ring_take(ring, &head, &length));
}

static void a_reset_in_the_middle(void **state)
{
    struct disk *f = *state;
    struct driver_ring *ring = &f->driver.rings[0];

    disk_put_header(f, IN, 0);
    ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
    ring_describe(ring, 1, DATA, 512, DESC_NEXT | DESC_WRITE, 2);
    ring_describe(ring, 2, STATUS, 1, DESC_WRITE, 0);
    for (int i = 0; i < 128; i++)
        ring_offer(ring, 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    mmio_kick(&f->blk.device);
    driver_write(&f->driver, REG_STATUS, 0);
    memset(disk_data(f, 512), 0xaa, 512);
    driver_settle(&f->driver);
    assert_int_equal(disk_data(f, 1)[0], 0xaa); /* nothing is written after a reset */
    driver_start(&f->driver, &f->blk.device, &f->mem, F_ALL, 128);
    assert_int_equal(disk_request(f, IN, 0, 512), OK);
}

#define BLK_TEST(name) cmocka_unit_test_setup_teardown(name, disk_set_up, disk_tear_down)

static const struct CMUnitTest tests[] = {
    BLK_TEST(a_shorter_file_is_the_hosts_fault),
    BLK_TEST(a_full_host_is_the_hosts_fault),
    BLK_TEST(a_bad_fd_is_the_hosts_fault),
    BLK_TEST(a_flush_does_not_touch_the_file),
    BLK_TEST(a_hole_that_fails),
    BLK_TEST(many_requests_at_once),
    BLK_TEST(a_reset_in_the_middle),
};

UNIT_MAIN(tests)
