/* SPDX-License-Identifier: Apache-2.0 */
/* mmio.c: the virtio-mmio register machine (monitor; input: the guest's). See mmio.h. */
#include "monitor/virtio/mmio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "monitor/virtio/mmio_regs.h"

static void mmio_lock(struct mmio_device *device)
{
    int failed = pthread_mutex_lock(&device->lock);

    must(failed == 0);
}

static void mmio_unlock(struct mmio_device *device)
{
    int failed = pthread_mutex_unlock(&device->lock);

    must(failed == 0);
}

static uint64_t mmio_offer(const struct mmio_device *device)
{
    return device->model.features | VIRTIO_F_VERSION_1;
}

static void mmio_interrupt(struct mmio_device *device, unsigned int bit)
{
    /* Release: orders what the interrupt is about (used.idx, the status register) before the bit,
     * for a vCPU thread that loads the bit with acquire on behalf of the driver. The edge comes
     * last: a driver that is interrupted finds the bit. */
    atomic_fetch_or_explicit(&device->interrupt_status, bit, memory_order_release);
    device->wiring.interrupt(device->wiring.context, device->wiring.line);
}

/* The device gives up until the driver resets it (§2.1.2), which mmio_kick() tells the driver. */
static void mmio_break(struct mmio_device *device, const struct err *err)
{
    device->status |= STATUS_NEEDS_RESET;
    device->breakage = *err;
    (void)err_wrap(&device->breakage, "%s", device->model.name);
    device->breakage_pending = true;
}

static void mmio_reset(struct mmio_device *device)
{
    for (uint32_t i = 0; i < device->model.ops->queue_count; i++) {
        queue_reset(&device->queues[i].queue);
        device->queues[i].registers = (struct queue_registers){.raw_size = 0};
        device->queues[i].ready = false;
    }
    device->status = 0;
    device->device_features_select = 0;
    device->driver_features_select = 0;
    device->driver_features = 0;
    device->driver_features_excess = false;
    device->queue_select = 0;
    device->reset_pending = true;
    atomic_store_explicit(&device->interrupt_status, 0, memory_order_release);
    mmio_wake(device);
}

/* DRIVER_OK: the queues are checked here, once, and never again looked up from the registers. */
static void mmio_activate(struct mmio_device *device)
{
    device->status |= STATUS_DRIVER_OK;
    for (uint32_t i = 0; i < device->model.ops->queue_count; i++) {
        struct mmio_queue *queue = &device->queues[i];
        struct err err = ERR_INIT;

        if (!queue->ready)
            continue;
        if (queue_activate(&queue->queue, device->mem, &queue->registers, &err) < 0) {
            (void)err_wrap(&err, "queue %u", i);
            mmio_break(device, &err);
            break;
        }
    }
    /* A doorbell that rang before this point found nothing active: ring again. */
    mmio_wake(device);
}

static bool mmio_features_fit(const struct mmio_device *device)
{
    return !(device->driver_features & ~mmio_offer(device)) && !device->driver_features_excess &&
           (device->driver_features & VIRTIO_F_VERSION_1);
}

/* The driver adds one bit at a time, in the order of §3.1.1; any other value is ignored. */
static void mmio_write_status(struct mmio_device *device, uint32_t value)
{
    uint32_t added;

    if (value == 0) {
        mmio_reset(device);
        return;
    }
    value &= ~(uint32_t)STATUS_NEEDS_RESET; /* ours; a driver writes back what it read */
    if ((device->status & ~(uint32_t)STATUS_NEEDS_RESET) & ~value)
        return;
    added = value & ~device->status;
    if (added == STATUS_FAILED)
        device->status |= STATUS_FAILED;
    else if (added == STATUS_ACKNOWLEDGE && device->status == 0)
        device->status |= STATUS_ACKNOWLEDGE;
    else if (added == STATUS_DRIVER && device->status == STATUS_ACKNOWLEDGE)
        device->status |= STATUS_DRIVER;
    else if (added == STATUS_FEATURES_OK && device->status == STATUS_NEGOTIATING &&
             mmio_features_fit(device))
        device->status |= STATUS_FEATURES_OK;
    else if (added == STATUS_DRIVER_OK && device->status == STATUS_CONFIGURING)
        mmio_activate(device);
}

static void mmio_write_features(struct mmio_device *device, uint32_t value)
{
    if (device->status != STATUS_NEGOTIATING)
        return;
    if (device->driver_features_select == 0)
        device->driver_features = (device->driver_features & ~0xffffffffULL) | value;
    else if (device->driver_features_select == 1)
        device->driver_features =
            (device->driver_features & 0xffffffffULL) | ((uint64_t)value << 32);
    else if (value != 0)
        device->driver_features_excess = true;
}

/* NULL when QueueSel names a queue that is not there. */
static struct mmio_queue *mmio_selected(struct mmio_device *device)
{
    if (device->queue_select >= device->model.ops->queue_count)
        return NULL;
    return &device->queues[device->queue_select];
}

static void put_low(uint64_t *field, uint32_t value)
{
    *field = (*field & ~0xffffffffULL) | value;
}

static void put_high(uint64_t *field, uint32_t value)
{
    *field = (*field & 0xffffffffULL) | ((uint64_t)value << 32);
}

/* Between FEATURES_OK and DRIVER_OK, and not while it is ready; 0 stops it always (§4.2.2.1). */
static void mmio_write_queue(struct mmio_device *device, uint64_t offset, uint32_t value)
{
    struct mmio_queue *queue = mmio_selected(device);
    struct queue_registers *registers;

    if (queue && offset == REG_QUEUE_READY && value == 0) {
        queue->ready = false;
        queue_reset(&queue->queue);
    }
    if (!queue || device->status != STATUS_CONFIGURING)
        return;
    if (offset == REG_QUEUE_READY) {
        queue->ready |= value == 1;
        return;
    }
    if (queue->ready)
        return;
    registers = &queue->registers;
    if (offset == REG_QUEUE_SIZE)
        registers->raw_size = value;
    else if (offset == REG_QUEUE_DESC_LOW)
        put_low(&registers->raw_desc_gpa, value);
    else if (offset == REG_QUEUE_DESC_HIGH)
        put_high(&registers->raw_desc_gpa, value);
    else if (offset == REG_QUEUE_AVAIL_LOW)
        put_low(&registers->raw_avail_gpa, value);
    else if (offset == REG_QUEUE_AVAIL_HIGH)
        put_high(&registers->raw_avail_gpa, value);
    else if (offset == REG_QUEUE_USED_LOW)
        put_low(&registers->raw_used_gpa, value);
    else if (offset == REG_QUEUE_USED_HIGH)
        put_high(&registers->raw_used_gpa, value);
}

static void mmio_write_locked(struct mmio_device *device, uint64_t offset, uint32_t value)
{
    switch (offset) {
    case REG_DEVICE_FEATURES_SELECT:
        device->device_features_select = value;
        break;
    case REG_DRIVER_FEATURES_SELECT:
        device->driver_features_select = value;
        break;
    case REG_DRIVER_FEATURES:
        mmio_write_features(device, value);
        break;
    case REG_QUEUE_SELECT:
        device->queue_select = value;
        break;
    case REG_STATUS:
        mmio_write_status(device, value);
        break;
    default:
        mmio_write_queue(device, offset, value);
        break;
    }
}

void mmio_write(struct mmio_device *device, uint64_t offset, const uint8_t *bytes, uint32_t size)
{
    uint32_t value;

    /* The configuration spaces that we have are constant. */
    if (offset >= REG_CONFIG || size != 4 || offset % 4 != 0)
        return;
    value = le32_load(bytes);
    if (offset == MMIO_QUEUE_NOTIFY) {
        if (value < device->model.ops->queue_count)
            mmio_wake(device);
        return;
    }
    if (offset == REG_INTERRUPT_ACK) {
        /* Release pairs with nothing of ours: the driver acknowledges first and looks at the rings
         * afterwards; acquire keeps it that way on this thread. */
        atomic_fetch_and_explicit(&device->interrupt_status, ~value, memory_order_acq_rel);
        return;
    }
    mmio_lock(device);
    mmio_write_locked(device, offset, value);
    mmio_unlock(device);
}

static uint32_t mmio_read_features(const struct mmio_device *device)
{
    if (device->device_features_select == 0)
        return (uint32_t)(mmio_offer(device) & 0xffffffffU);
    if (device->device_features_select == 1)
        return (uint32_t)(mmio_offer(device) >> 32);
    return 0;
}

static uint32_t mmio_read_locked(struct mmio_device *device, uint64_t offset)
{
    const struct mmio_queue *queue = mmio_selected(device);

    switch (offset) {
    case REG_MAGIC:
        return MMIO_MAGIC;
    case REG_VERSION:
        return MMIO_VERSION;
    case REG_DEVICE_ID:
        return device->model.ops->device_id;
    case REG_DEVICE_FEATURES:
        return mmio_read_features(device);
    case REG_QUEUE_SIZE_MAX:
        return queue ? QUEUE_SIZE_MAX : 0;
    case REG_QUEUE_READY:
        return queue && queue->ready;
    case REG_STATUS:
        return device->status;
    default:
        /* No shared memory regions: their length and base read as all ones (§4.2.2). */
        if (offset >= REG_SHM_LENGTH_LOW && offset <= REG_SHM_BASE_HIGH)
            return UINT32_MAX;
        return 0; /* REG_VENDOR_ID, ConfigGeneration, write-only and unknown registers */
    }
}

static void mmio_read_config(
    const struct mmio_device *device, uint64_t offset, uint8_t *bytes, uint32_t size)
{
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return;
    if (offset % size == 0 && range_within(offset, size, device->model.config_bytes))
        memcpy(bytes, device->model.config + offset, size);
}

void mmio_read(struct mmio_device *device, uint64_t offset, uint8_t *bytes, uint32_t size)
{
    uint32_t value;

    memset(bytes, 0, size);
    if (offset >= REG_CONFIG) {
        mmio_read_config(device, offset - REG_CONFIG, bytes, size);
        return;
    }
    if (size != 4 || offset % 4 != 0)
        return;
    if (offset == REG_INTERRUPT_STATUS) {
        /* Acquire: pairs with the release in mmio_interrupt(). */
        value = atomic_load_explicit(&device->interrupt_status, memory_order_acquire);
    } else {
        mmio_lock(device);
        value = mmio_read_locked(device, offset);
        mmio_unlock(device);
    }
    le32_store(bytes, value);
}

/*
 * Adds to the eventfd. A count at its end is not added to, but readable, which is all that is
 * wanted. Nothing else fails with one of our own (fs/eventfd.c); a doorbell that was lost without a
 * word would be a guest that hangs.
 */
void mmio_wake(struct mmio_device *device)
{
    const uint64_t one = 1;
    ssize_t count = write(device->wiring.bell_fd, &one, sizeof(one));

    must(count == sizeof(one) || errno == EAGAIN);
}

/* Interrupt the driver once for all that was given back in the queues. */
static void mmio_finish(struct mmio_device *device)
{
    bool wanted = false;

    for (uint32_t i = 0; i < device->model.ops->queue_count; i++)
        wanted |= queue_wants_interrupt(&device->queues[i].queue);
    if (wanted)
        mmio_interrupt(device, INTERRUPT_USED);
}

static void mmio_process(struct mmio_device *device)
{
    struct err err = ERR_INIT;
    int more = device->model.ops->process(device->model.context, device, &err);

    mmio_finish(device);
    if (more > 0)
        mmio_wake(device);
    if (more < 0)
        mmio_break(device, &err);
}

void mmio_kick(struct mmio_device *device)
{
    mmio_lock(device);
    if (device->reset_pending) {
        device->reset_pending = false;
        if (device->model.ops->reset)
            device->model.ops->reset(device->model.context);
    }
    if (device->status == STATUS_ACTIVE)
        mmio_process(device);
    if (device->breakage_pending) {
        device->breakage_pending = false;
        if (device->status & STATUS_DRIVER_OK)
            mmio_interrupt(device, INTERRUPT_CONFIG);
        if (device->broken)
            device->broken(device->broken_context, device, &device->breakage);
    }
    mmio_unlock(device);
}

void mmio_wire(struct mmio_device *device, const struct mmio_wiring *wiring)
{
    device->wiring = *wiring;
}

bool mmio_has_feature(const struct mmio_device *device, uint64_t feature)
{
    return (device->status & STATUS_FEATURES_OK) && (device->driver_features & feature);
}

struct queue *mmio_queue(struct mmio_device *device, uint32_t index)
{
    must(index < device->model.ops->queue_count);
    return &device->queues[index].queue;
}

int mmio_init(struct mmio_device *device, const struct virtio_model *model,
    const struct guest_mem *mem, struct err *err)
{
    must(model->ops->queue_count <= MMIO_QUEUES_MAX);
    must(model->config_bytes <= MMIO_CONFIG_MAX_BYTES);
    *device = (struct mmio_device){.model = *model, .mem = mem, .wiring.bell_fd = -1};
    atomic_init(&device->interrupt_status, 0);
    errno = pthread_mutex_init(&device->lock, NULL);
    if (errno) {
        device->model.ops = NULL; /* there is nothing for mmio_fini() */
        return err_sys(err, "cannot create a mutex");
    }
    return 0;
}

void mmio_fini(struct mmio_device *device)
{
    if (!device->model.ops)
        return;
    (void)pthread_mutex_destroy(&device->lock);
    device->model.ops = NULL;
}
