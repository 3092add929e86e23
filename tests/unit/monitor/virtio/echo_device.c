/* SPDX-License-Identifier: Apache-2.0 */
/* echo_device.c: see echo_device.h. */
#include "tests/unit/monitor/virtio/echo_device.h"

#include <string.h>

#include "tests/unit/monitor/virtio/fake_ram.h"
#include "tests/unit/unit.h"

static void echo_reset(void *context)
{
    struct echo *f = context;

    f->resets++;
}

static int echo_queue(struct echo *f, uint32_t index, struct err *err)
{
    struct queue *queue = mmio_queue(&f->device, index);

    for (int i = 0; i < ECHO_BATCH; i++) {
        int popped = queue_pop(queue, &f->chain, err);

        if (popped <= 0)
            return popped;
        f->chains++;
        queue_push(queue, &f->chain, 0);
    }
    return queue_has_work(queue);
}

static int echo_process(void *context, struct mmio_device *device, struct err *err)
{
    struct echo *f = context;
    int more = 0;

    assert_ptr_equal(device, &f->device);
    f->processed++;
    for (uint32_t i = 0; i < 2 && more >= 0; i++) {
        int left = echo_queue(f, i, err);

        more = left < 0 ? -1 : more | left;
    }
    return more;
}

static const struct virtio_ops echo_ops = {
    .device_id = 42,
    .queue_count = 2,
    .reset = echo_reset,
    .process = echo_process,
};

static void echo_broken(void *context, struct mmio_device *device, const struct err *err)
{
    struct echo *f = context;

    assert_ptr_equal(device, &f->device);
    f->breakages++;
    memcpy(f->breakage, err->text, sizeof(f->breakage));
}

int echo_set_up(void **state)
{
    static struct echo echo;
    struct virtio_model model = {
        .ops = &echo_ops,
        .context = &echo,
        .name = "echo",
        .features = ECHO_FEATURES,
        .config_bytes = 12,
        .config = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99},
    };
    struct err err = ERR_INIT;

    echo = (struct echo){.resets = 0};
    fake_ram_make(&echo.mem);
    echo.driver = (struct driver){.device = &echo.device, .mem = &echo.mem};
    *state = &echo;
    if (mmio_init(&echo.device, &model, &echo.mem, &err) < 0)
        return -1;
    driver_wire(&echo.device);
    echo.device.broken = echo_broken;
    echo.device.broken_context = &echo;
    return 0;
}

int echo_tear_down(void **state)
{
    struct echo *f = *state;

    mmio_fini(&f->device);
    mmio_fini(&f->device); /* once more is safe */
    fake_ram_free(&f->mem);
    return 0;
}

void echo_start(struct echo *f)
{
    driver_start(&f->driver, &f->device, &f->mem, ECHO_FEATURES, 8);
    ring_describe(&f->driver.rings[0], 0, DATA, 16, 0, 0);
    ring_describe(&f->driver.rings[1], 0, DATA, 16, 0, 0);
    f->chains = 0;
    (void)driver_interrupts();
}

bool echo_has_queue_registers(const struct echo *f)
{
    const struct queue_registers none = {.raw_size = 0};

    for (int i = 0; i < 2; i++) {
        if (memcmp(&f->device.queues[i].registers, &none, sizeof(none)) != 0 ||
            f->device.queues[i].ready)
            return true;
    }
    return false;
}
