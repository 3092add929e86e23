/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/*
 * blk_fuzz.c: the input is a list of requests. Whatever they are, the file keeps its size, a
 * read-only one its content, every request ends, and none is taken for an error of the host.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/num.h"
#include "monitor/virtio/blk.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum {
    DISK_BYTES = 32 << 10,
    HEADER = 0x100000,
    DATA = 0x101000,
    REQUESTS_MAX = 64,
    PARTS_MAX = 12
};

static const uint32_t TYPES[] = {0, 1, 4, 8, 11, 13, 0, 1};

/* Mostly near the limits of the disk. */
static uint64_t read_sector(struct reader *reader)
{
    uint8_t kind = reader_u8(reader);

    if (kind < 230)
        return kind % (DISK_BYTES / BLK_SECTOR_BYTES + 2);
    return reader_u64(reader);
}

static void put_request(struct reader *reader, const struct guest_mem *mem)
{
    uint8_t *header = fake_ram_at(mem, HEADER, 16), *ranges = fake_ram_at(mem, DATA, 256);
    uint8_t type = reader_u8(reader), count = reader_u8(reader) % 17;

    le32_store(header, type < 250 ? TYPES[type % 8] : reader_u32(reader));
    le64_store(header + 8, read_sector(reader));
    /* Ranges of DISCARD and WRITE_ZEROES. */
    if (type % 8 != 4 && type % 8 != 5)
        return;
    for (uint32_t i = 0; i < count; i++) {
        le64_store(ranges + 16 * (i % 16), read_sector(reader));
        le32_store(ranges + 16 * (i % 16) + 8, reader_u8(reader) % 66);
        le32_store(ranges + 16 * (i % 16) + 12, reader_u8(reader) % 4 == 3 ? 2 : i & 1);
    }
}

/* The chain of one request: a usual one, or parts as the input says. */
static void put_chain(struct reader *reader, struct driver_ring *ring)
{
    uint8_t shape = reader_u8(reader);
    uint16_t count = 1 + reader_u8(reader) % PARTS_MAX;
    uint16_t data_flags = DESC_NEXT | (shape & 1 ? DESC_WRITE : 0);

    if (shape < 128) {
        uint32_t sectors = reader_u8(reader) % 70;

        ring_describe(ring, 0, HEADER, 16, DESC_NEXT, 1);
        ring_describe(
            ring, 1, DATA, shape & 2 ? sectors * 16 + 16 : sectors * 512 + 512, data_flags, 2);
        ring_describe(ring, 2, HEADER + 64, 1, DESC_WRITE, 0);
        return;
    }
    for (uint16_t i = 0; i < count; i++) {
        uint8_t part = reader_u8(reader);

        ring_describe(ring, i, i == 0 ? HEADER : DATA + 64ULL * reader_u8(reader),
            part & 64 ? reader_u16(reader) : part % 33,
            (uint16_t)((i + 1 < count ? DESC_NEXT : 0) | (part & 128 ? DESC_WRITE : 0)),
            (uint16_t)(i + 1));
    }
}

static void fill_disk(uint8_t bytes[DISK_BYTES])
{
    for (int i = 0; i < DISK_BYTES / BLK_SECTOR_BYTES; i++)
        memset(bytes + i * BLK_SECTOR_BYTES, i + 1, BLK_SECTOR_BYTES);
}

static void check_disk(int fd, bool readonly)
{
    static uint8_t bytes[DISK_BYTES], made[DISK_BYTES];
    uint64_t size;
    struct err err = ERR_INIT;

    must(fd_size(fd, &size, &err) == 0 && size == DISK_BYTES);
    if (!readonly)
        return;
    fill_disk(made);
    must(fd_pread_all(fd, bytes, sizeof(bytes), 0) == DISK_BYTES);
    must(memcmp(bytes, made, DISK_BYTES) == 0);
}

static int make_disk(void)
{
    uint8_t bytes[DISK_BYTES];
    int fd = memfd_create("disk", MFD_CLOEXEC);

    fill_disk(bytes);
    must(fd >= 0 && fd_write_all(fd, bytes, sizeof(bytes)) == 0);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guest_mem mem = GUEST_MEM_INIT;
    static struct blk blk;
    struct reader reader = reader_make(data, size);
    uint8_t knobs = reader_u8(&reader);
    AUTO_FD int fd = make_disk();
    struct blk_options options = {.name = "disk",
        .fd = fd,
        .bytes = DISK_BYTES,
        .readonly = knobs & 1,
        .punches = true,
        .id = "fuzz"};
    struct driver driver;
    struct err err = ERR_INIT;

    if (mem.region_count == 0)
        fake_ram_make(&mem);
    must(blk_init(&blk, &options, &mem, &err) == 0);
    driver_start(&driver, &blk.device, &mem, knobs & 2 ? blk.device.model.features : 0, 16);
    for (int i = 0; i < REQUESTS_MAX && reader.left > 0; i++) {
        uint32_t head, length, taken = 0;

        put_request(&reader, &mem);
        put_chain(&reader, &driver.rings[0]);
        ring_offer(&driver.rings[0], 0);
        driver_write(&driver, REG_QUEUE_NOTIFY, 0);
        driver_settle(&driver);
        while (ring_take(&driver.rings[0], &head, &length))
            taken++;
        if (driver_read(&driver, REG_STATUS) & NEEDS_RESET)
            driver_start(&driver, &blk.device, &mem, 0, 16);
        else
            must(taken == 1);
    }
    must(!err_is_set(&blk.host_error));
    check_disk(fd, options.readonly);
    blk_fini(&blk);
    return 0;
}
