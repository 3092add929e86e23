/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c: see driver.h. */
#include "tests/unit/monitor/virtio/driver.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum {
    RING_BYTES = 0x10000,
    RING_AVAIL = 0x4000,
    RING_USED = 0x8000,
};

static int bell_fd = -1;
static uint64_t interrupts;

struct driver_ring ring_place(const struct guest_mem *mem, uint32_t number, uint16_t size)
{
    uint64_t base = (uint64_t)RING_BYTES * (number + 1);

    memset(fake_ram_at(mem, base, 16ULL * size), 0, 16ULL * size);
    memset(fake_ram_at(mem, base + RING_AVAIL, 6 + 2ULL * size), 0, 6 + 2ULL * size);
    memset(fake_ram_at(mem, base + RING_USED, 6 + 8ULL * size), 0, 6 + 8ULL * size);
    return (struct driver_ring){
        .mem = mem,
        .size = size,
        .registers =
            {
                .raw_size = size,
                .raw_desc_gpa = base,
                .raw_avail_gpa = base + RING_AVAIL,
                .raw_used_gpa = base + RING_USED,
            },
    };
}

void ring_describe(struct driver_ring *ring, uint16_t index, uint64_t address, uint32_t length,
    uint16_t flags, uint16_t next)
{
    uint8_t *at = fake_ram_at(ring->mem, ring->registers.raw_desc_gpa + 16ULL * index, 16);

    le64_store(at, address);
    le32_store(at + 8, length);
    le16_store(at + 12, flags);
    le16_store(at + 14, next);
}

void ring_set_avail_idx(struct driver_ring *ring, uint16_t idx)
{
    ring->avail_idx = idx;
    le16_store(fake_ram_at(ring->mem, ring->registers.raw_avail_gpa + 2, 2), idx);
}

void ring_set_avail_flags(struct driver_ring *ring, uint16_t flags)
{
    le16_store(fake_ram_at(ring->mem, ring->registers.raw_avail_gpa, 2), flags);
}

void ring_offer(struct driver_ring *ring, uint16_t head)
{
    uint64_t slot = ring->avail_idx % ring->size;

    le16_store(fake_ram_at(ring->mem, ring->registers.raw_avail_gpa + 4 + 2 * slot, 2), head);
    ring_set_avail_idx(ring, (uint16_t)(ring->avail_idx + 1));
}

bool ring_take(struct driver_ring *ring, uint32_t *head, uint32_t *length)
{
    const uint8_t *used =
        fake_ram_at(ring->mem, ring->registers.raw_used_gpa, 6 + 8ULL * ring->size);
    const uint8_t *element = used + 4 + 8 * (ring->used_idx % ring->size);

    if (le16_load(used + 2) == ring->used_idx)
        return false;
    *head = le32_load(element);
    *length = le32_load(element + 4);
    ring->used_idx++;
    return true;
}

uint32_t driver_read(struct driver *driver, uint64_t offset)
{
    uint8_t bytes[4];

    mmio_read(driver->device, offset, bytes, sizeof(bytes));
    return le32_load(bytes);
}

void driver_write(struct driver *driver, uint64_t offset, uint32_t value)
{
    uint8_t bytes[4];

    le32_store(bytes, value);
    mmio_write(driver->device, offset, bytes, sizeof(bytes));
}

void driver_negotiate(struct driver *driver, uint64_t features)
{
    driver_write(driver, REG_STATUS, 0);
    driver_write(driver, REG_STATUS, ACKNOWLEDGE);
    driver_write(driver, REG_STATUS, ACKNOWLEDGE | DRIVER);
    driver_write(driver, REG_DRIVER_FEATURES_SEL, 1);
    driver_write(driver, REG_DRIVER_FEATURES, (uint32_t)(features >> 32));
    driver_write(driver, REG_DRIVER_FEATURES_SEL, 0);
    driver_write(driver, REG_DRIVER_FEATURES, (uint32_t)(features & 0xffffffffU));
    driver_write(driver, REG_STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
}

void driver_set_queue(struct driver *driver, uint32_t index, const struct driver_ring *ring)
{
    const struct queue_registers *registers = &ring->registers;

    driver_write(driver, REG_QUEUE_SEL, index);
    driver_write(driver, REG_QUEUE_NUM, registers->raw_size);
    driver_write(driver, REG_QUEUE_DESC_LOW, (uint32_t)registers->raw_desc_gpa);
    driver_write(driver, REG_QUEUE_DESC_HIGH, (uint32_t)(registers->raw_desc_gpa >> 32));
    driver_write(driver, REG_QUEUE_DRIVER_LOW, (uint32_t)registers->raw_avail_gpa);
    driver_write(driver, REG_QUEUE_DRIVER_HIGH, (uint32_t)(registers->raw_avail_gpa >> 32));
    driver_write(driver, REG_QUEUE_DEVICE_LOW, (uint32_t)registers->raw_used_gpa);
    driver_write(driver, REG_QUEUE_DEVICE_HIGH, (uint32_t)(registers->raw_used_gpa >> 32));
}

static void count_interrupt(void *context, uint32_t line)
{
    (void)context;
    (void)line;
    interrupts++;
}

void driver_wire(struct mmio_device *device)
{
    struct mmio_wiring wiring = {.interrupt = count_interrupt};
    uint64_t rings;

    if (bell_fd < 0)
        bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(bell_fd >= 0);
    (void)!read(bell_fd, &rings, sizeof(rings));
    interrupts = 0;
    wiring.bell_fd = bell_fd;
    mmio_wire(device, &wiring);
}

void driver_start(struct driver *driver, struct mmio_device *device, const struct guest_mem *mem,
    uint64_t features, uint16_t queue_size)
{
    driver->device = device;
    driver->mem = mem;
    if (device->wiring.bell_fd < 0)
        driver_wire(device);
    driver_negotiate(driver, features | VIRTIO_F_VERSION_1);
    for (uint32_t i = 0; i < device->model.ops->queue_count; i++) {
        driver->rings[i] = ring_place(mem, i, queue_size);
        driver_set_queue(driver, i, &driver->rings[i]);
        driver_write(driver, REG_QUEUE_READY, 1);
    }
    driver_write(driver, REG_STATUS, RUNNING);
    driver_settle(driver);
}

void driver_settle(struct driver *driver)
{
    uint64_t rings;

    for (int turn = 0; read(bell_fd, &rings, sizeof(rings)) == sizeof(rings); turn++) {
        must(turn < 100000); /* a device that rings itself for ever */
        mmio_kick(driver->device);
    }
}

uint64_t driver_interrupts(void)
{
    uint64_t count = interrupts;

    interrupts = 0;
    return count;
}
