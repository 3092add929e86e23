/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/*
 * mmio_fuzz.c: the input is a list of register accesses, doorbells and ring entries. Whatever they
 * are, the status goes its ways only, and an active queue is what it was when it was activated.
 */
#include <string.h>

#include "base/cursor.h"
#include "monitor/virtio/mmio.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum { DATA = 0x100000, STEPS_MAX = 512, BATCH = 8 };

static int give_back_queue(struct queue *queue, struct err *err)
{
    static struct queue_chain chain;

    for (int i = 0; i < BATCH; i++) {
        int popped = queue_pop(queue, &chain, err);

        if (popped <= 0)
            return popped;
        queue_push(queue, &chain, chain.writable_bytes);
    }
    return queue_has_work(queue);
}

static int give_back(void *context, struct mmio_device *device, struct err *err)
{
    int first = give_back_queue(mmio_queue(device, 0), err);
    int second = first < 0 ? -1 : give_back_queue(mmio_queue(device, 1), err);

    (void)context;
    return second < 0 ? -1 : first | second;
}

static const struct virtio_ops OPS = {
    .device_id = 42,
    .queue_count = 2,
    .process = give_back,
};

static void count_breakage(void *context, struct mmio_device *device, const struct err *err)
{
    (void)device;
    must(err_is_set(err));
    ++*(int *)context;
}

static void check(struct driver *driver)
{
    const struct mmio_device *device = driver->device;
    uint32_t status = driver_read(driver, REG_STATUS);
    uint32_t steps = status & ~(uint32_t)(FAILED | NEEDS_RESET);

    must(steps == 0 || steps == ACKNOWLEDGE || steps == (ACKNOWLEDGE | DRIVER) ||
         steps == (ACKNOWLEDGE | DRIVER | FEATURES_OK) || steps == RUNNING);
    must(!(status & NEEDS_RESET) || steps == RUNNING);
    if (status & FEATURES_OK)
        must(device->driver_features ==
             (device->driver_features & (device->model.features | VIRTIO_F_VERSION_1)));
    for (int i = 0; i < 2; i++) {
        const struct queue *queue = &device->queues[i].queue;

        if (!queue->desc)
            continue;
        must(status & DRIVER_OK);
        must(queue->size >= 1 && queue->size <= QUEUE_SIZE_MAX);
        must((queue->size & (queue->size - 1)) == 0);
        must(queue->size == device->queues[i].registers.raw_size);
        must(guest_mem_range(driver->mem, gpa(device->queues[i].registers.raw_desc_gpa),
                 16ULL * queue->size) == queue->desc);
    }
}

static void step(struct reader *reader, struct driver *driver)
{
    static const uint16_t offsets[] = {REG_STATUS, REG_QUEUE_SEL, REG_QUEUE_NUM, REG_QUEUE_READY,
        REG_QUEUE_DESC_LOW, REG_QUEUE_DRIVER_LOW, REG_QUEUE_DEVICE_LOW, REG_QUEUE_NOTIFY,
        REG_DRIVER_FEATURES, REG_DRIVER_FEATURES_SEL, REG_INTERRUPT_ACK, REG_QUEUE_DESC_HIGH};
    uint8_t bytes[8] = {0}, kind = reader_u8(reader);
    uint32_t index = reader_u8(reader);
    uint64_t address;

    switch (kind % 8) {
    case 0: /* any access */
        reader_copy(reader, bytes, sizeof(bytes));
        mmio_write(driver->device, reader_u64(reader), bytes, index % 9);
        break;
    case 1:
        mmio_read(driver->device, reader_u16(reader), bytes, index % 9);
        break;
    case 2: /* a register that matters */
        driver_write(
            driver, offsets[index % (sizeof(offsets) / sizeof(offsets[0]))], reader_u32(reader));
        break;
    case 3: /* the next status */
        driver_write(driver, REG_STATUS, driver_read(driver, REG_STATUS) | 1U << (index % 9));
        break;
    case 4:
        mmio_kick(driver->device);
        break;
    case 5:
        address = DATA + reader_u16(reader);
        ring_describe(&driver->rings[index % 2], reader_u8(reader) % 8, address, reader_u16(reader),
            reader_u8(reader) & 7, reader_u8(reader) % 9);
        break;
    case 6:
        ring_offer(&driver->rings[index % 2], reader_u8(reader) % 9);
        break;
    default: /* all that a good driver does */
        driver_start(driver, driver->device, driver->mem, index & 3, (uint16_t)(1 << (index % 9)));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guest_mem mem = GUEST_MEM_INIT;
    static struct mmio_device device;
    static int breakages;
    const struct virtio_model model = {
        .ops = &OPS, .name = "fuzz", .features = 3, .config_bytes = 12};
    struct reader reader = reader_make(data, size);
    struct driver driver = {.device = &device, .mem = &mem};
    struct err err = ERR_INIT;

    if (mem.region_count == 0)
        fake_ram_make(&mem);
    must(mmio_init(&device, &model, &mem, &err) == 0);
    driver_wire(&device);
    device.broken = count_breakage;
    device.broken_context = &breakages;
    for (uint32_t i = 0; i < 2; i++)
        driver.rings[i] = ring_place(&mem, i, 8);
    for (int i = 0; i < STEPS_MAX && reader.left > 0; i++) {
        step(&reader, &driver);
        check(&driver);
    }
    driver_settle(&driver);
    mmio_fini(&device);
    return 0;
}
