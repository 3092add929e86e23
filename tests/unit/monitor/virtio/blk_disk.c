/* SPDX-License-Identifier: Apache-2.0 */
/* blk_disk.c: see blk_disk.h. */
#include "tests/unit/monitor/virtio/blk_disk.h"

#include <sys/mman.h>

#include "base/fd.h"
#include "base/num.h"
#include "tests/unit/monitor/virtio/fake_ram.h"
#include "tests/unit/unit.h"

static void host_failed(void *context, const struct err *err)
{
    struct disk *f = context;

    assert_true(err_is_set(err));
    f->failures++;
}

uint8_t disk_pattern(uint64_t at)
{
    return (uint8_t)(at * 7 + at / 512 + 1);
}

static void make_disk(struct disk *f)
{
    uint8_t bytes[DISK_BYTES];

    for (uint64_t i = 0; i < DISK_BYTES; i++)
        bytes[i] = disk_pattern(i);
    f->fd = memfd_create("disk", MFD_CLOEXEC);
    assert_true(f->fd >= 0);
    assert_int_equal(fd_write_all(f->fd, bytes, sizeof(bytes)), 0);
}

void disk_open(struct disk *f, bool readonly, uint64_t features)
{
    struct blk_options options = {
        .name = "disk 1",
        .fd = f->fd,
        .readonly = readonly,
        .punches = true,
        .id = "vmrun-disk-1",
        .host_failed = host_failed,
        .host_failed_context = f,
    };
    struct err err = ERR_INIT;

    assert_int_equal(fd_size(f->fd, &options.bytes, &err), 0);
    blk_fini(&f->blk);
    assert_int_equal(blk_init(&f->blk, &options, &f->mem, &err), 0);
    driver_start(&f->driver, &f->blk.device, &f->mem, features, 128);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), RUNNING);
}

int disk_set_up(void **state)
{
    static struct disk disk;

    disk = (struct disk){.fd = -1};
    fake_ram_make(&disk.mem);
    *state = &disk;
    make_disk(&disk);
    disk_open(&disk, false, F_ALL);
    return 0;
}

int disk_tear_down(void **state)
{
    struct disk *f = *state;

    blk_fini(&f->blk);
    fd_close(&f->fd);
    fake_ram_free(&f->mem);
    return 0;
}

uint8_t *disk_data(struct disk *f, uint64_t size)
{
    return fake_ram_at(&f->mem, DATA, size);
}

void disk_put_header(struct disk *f, uint32_t type, uint64_t sector)
{
    uint8_t *header = fake_ram_at(&f->mem, HEADER, 16);

    le32_store(header, type);
    le32_store(header + 4, 0xdeadbeef);
    le64_store(header + 8, sector);
    *fake_ram_at(&f->mem, STATUS, 1) = NO_STATUS;
}

uint8_t disk_finish(struct disk *f)
{
    uint32_t head;

    ring_offer(&f->driver.rings[0], 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(&f->driver);
    if (ring_take(&f->driver.rings[0], &head, &f->used_length))
        assert_int_equal(head, 0);
    return *fake_ram_at(&f->mem, STATUS, 1);
}

uint8_t disk_request(struct disk *f, uint32_t type, uint64_t sector, uint32_t bytes)
{
    struct driver_ring *ring = &f->driver.rings[0];
    bool in = type == IN || type == GET_ID;

    disk_put_header(f, type, sector);
    ring_describe(ring, 0, HEADER, 16, DESC_NEXT, bytes ? 1 : 2);
    ring_describe(ring, 1, DATA, bytes, (uint16_t)(DESC_NEXT | (in ? DESC_WRITE : 0)), 2);
    ring_describe(ring, 2, STATUS, 1, DESC_WRITE, 0);
    return disk_finish(f);
}

void disk_assert_pattern(struct disk *f, uint64_t from, uint64_t bytes)
{
    uint8_t disk[DISK_BYTES];

    assert_int_equal(fd_pread_all(f->fd, disk, bytes, from), (ssize_t)bytes);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(disk[i], disk_pattern(from + i));
}

void disk_assert_zero(struct disk *f, uint64_t from, uint64_t bytes)
{
    uint8_t disk[DISK_BYTES];

    assert_int_equal(fd_pread_all(f->fd, disk, bytes, from), (ssize_t)bytes);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(disk[i], 0);
}

void disk_put_range(
    struct disk *f, uint32_t index, uint64_t sector, uint32_t sectors, uint32_t flags)
{
    uint8_t *range = fake_ram_at(&f->mem, DATA + 16 * index, 16);

    le64_store(range, sector);
    le32_store(range + 8, sectors);
    le32_store(range + 12, flags);
}
