/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/echo_device.c -pthread */
/* mmio_life_test.c: doorbells, interrupts, breakage, resets, and the threads around a device. */
#include "tests/unit/monitor/virtio/echo_device.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>

static void a_kick_before_driver_ok_is_not_lost(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    driver_negotiate(driver, VIRTIO_F_VERSION_1);
    for (uint32_t i = 0; i < 2; i++) {
        driver->rings[i] = ring_place(&f->mem, i, 8);
        driver_set_queue(driver, i, &driver->rings[i]);
        driver_write(driver, REG_QUEUE_READY, 1);
    }
    ring_describe(&driver->rings[1], 0, DATA, 1, 0, 0);
    ring_offer(&driver->rings[1], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(driver);
    assert_int_equal(f->chains, 0);
    driver_write(driver, REG_STATUS, RUNNING);
    driver_settle(driver);
    assert_int_equal(f->chains, 1);
}

static void work_per_kick_is_bounded(void **state)
{
    struct echo *f = *state;

    echo_start(f);
    for (int i = 0; i < 8; i++)
        ring_offer(&f->driver.rings[0], 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    mmio_kick(&f->device);
    assert_int_equal(f->chains, ECHO_BATCH);
    driver_settle(&f->driver); /* it rang itself for the rest */
    assert_int_equal(f->chains, 8);
}

static void interrupts_have_a_bit_and_an_edge(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    echo_start(f);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 0);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 1);
    assert_int_equal(driver_interrupts(), 1);
    driver_write(driver, REG_INTERRUPT_ACK, 2);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 1);
    driver_write(driver, REG_INTERRUPT_ACK, 0xffffffff);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 0);
    ring_set_avail_flags(&driver->rings[0], 1);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(f->chains, 2);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 0);
    assert_int_equal(driver_interrupts(), 0);
}

static void a_broken_queue_wants_a_reset(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    echo_start(f);
    ring_offer(&driver->rings[0], 8);
    ring_offer(&driver->rings[1], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING | NEEDS_RESET);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 2);
    assert_int_equal(driver_interrupts(), 1);
    assert_int_equal(f->breakages, 1);
    assert_string_equal(f->breakage, "echo: descriptor index 8, the queue has 8");
    /* Nothing is done any more, and nothing is reported twice. */
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(driver);
    assert_int_equal(f->chains, 0);
    assert_int_equal(f->breakages, 1);
    driver_write(driver, REG_STATUS, RUNNING); /* cannot be cleared but by a reset */
    driver_write(driver, REG_STATUS, RUNNING | NEEDS_RESET);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING | NEEDS_RESET);
    echo_start(f);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(f->chains, 1);
}

static void a_bad_queue_is_refused_at_driver_ok(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;
    struct driver_ring ring = ring_place(&f->mem, 0, 8);

    driver_negotiate(driver, VIRTIO_F_VERSION_1);
    driver_set_queue(driver, 1, &ring);
    driver_write(driver, REG_QUEUE_NUM, 7);
    driver_write(driver, REG_QUEUE_READY, 1);
    driver_write(driver, REG_STATUS, RUNNING);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING | NEEDS_RESET);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 2);
    assert_int_equal(f->breakages, 1);
    assert_non_null(strstr(f->breakage, "echo: queue 1: queue size 7"));
    assert_int_equal(f->processed, 0);
}

static void a_reset_forgets_what_was_pending(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    echo_start(f);
    f->resets = 0;
    for (int i = 0; i < 8; i++)
        ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    mmio_kick(&f->device); /* half of it; the rest is pending */
    driver_write(driver, REG_STATUS, 0);
    assert_int_equal(driver_read(driver, REG_STATUS), 0);
    assert_int_equal(driver_read(driver, REG_INTERRUPT_STATUS), 0);
    assert_int_equal(f->resets, 0); /* this is a vCPU thread: the device hears of it in the loop */
    driver_settle(driver);
    assert_int_equal(f->resets, 1);
    assert_int_equal(f->chains, ECHO_BATCH);
    assert_false(echo_has_queue_registers(f));
    assert_false(mmio_has_feature(&f->device, VIRTIO_F_VERSION_1));
    /* Another driver finds everything new, and the device hears of the reset before it is asked. */
    echo_start(f);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(f->chains, 1);
    assert_int_equal(f->resets, 2);
}

/* What was active before a reset is not, when the next driver leaves it out. */
static void a_reset_forgets_the_queues(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    echo_start(f);
    ring_offer(&driver->rings[0], 0);
    driver_negotiate(driver, VIRTIO_F_VERSION_1);
    driver->rings[1] = ring_place(&f->mem, 1, 8);
    driver_set_queue(driver, 1, &driver->rings[1]);
    driver_write(driver, REG_QUEUE_READY, 1);
    driver_write(driver, REG_STATUS, RUNNING);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING);
    assert_int_equal(f->chains, 0);
}

static void a_failed_driver_gets_nothing_done(void **state)
{
    struct echo *f = *state;

    echo_start(f);
    driver_write(&f->driver, REG_STATUS, RUNNING | FAILED);
    ring_offer(&f->driver.rings[0], 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(&f->driver);
    assert_int_equal(f->chains, 0);
}

static void a_queue_that_is_not_ready_has_no_work(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    driver_negotiate(driver, VIRTIO_F_VERSION_1);
    driver_write(driver, REG_STATUS, RUNNING);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING);
    assert_int_equal(f->chains, 0);
}

/* §4.2.2.1: its rings are not looked at again, and only a reset starts it anew. */
static void a_running_queue_can_be_stopped(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    echo_start(f);
    driver_write(driver, REG_QUEUE_SEL, 0);
    driver_write(driver, REG_QUEUE_READY, 0);
    assert_int_equal(driver_read(driver, REG_QUEUE_READY), 0);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    driver_write(driver, REG_QUEUE_READY, 1);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(driver_read(driver, REG_QUEUE_READY), 0);
    assert_int_equal(driver_read(driver, REG_STATUS), RUNNING);
    assert_int_equal(f->chains, 0);
    ring_offer(&driver->rings[1], 0); /* the other one goes on */
    driver_write(driver, REG_QUEUE_NOTIFY, 1);
    driver_settle(driver);
    assert_int_equal(f->chains, 1);
    echo_start(f);
    ring_offer(&driver->rings[0], 0);
    driver_write(driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(driver);
    assert_int_equal(f->chains, 1);
}

enum { STORM = 20000 };

/* A vCPU that resets and restarts, again and again, while the loop works on what it was given. */
static void *storm(void *context)
{
    struct echo *f = context;
    struct driver vcpu = {.device = &f->device, .mem = &f->mem};

    for (int i = 0; i < STORM / 100; i++) {
        vcpu.rings[0] = f->driver.rings[0];
        driver_negotiate(&vcpu, VIRTIO_F_VERSION_1);
        driver_set_queue(&vcpu, 0, &vcpu.rings[0]);
        driver_write(&vcpu, REG_QUEUE_READY, 1);
        driver_write(&vcpu, REG_STATUS, RUNNING);
        for (int j = 0; j < 100; j++) {
            driver_write(&vcpu, REG_QUEUE_NOTIFY, 0);
            driver_write(&vcpu, REG_INTERRUPT_ACK, driver_read(&vcpu, REG_INTERRUPT_STATUS));
        }
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    struct echo *f = *state;
    pthread_t thread;

    f->driver.rings[0] = ring_place(&f->mem, 0, 8);
    ring_describe(&f->driver.rings[0], 0, DATA, 1, 0, 0);
    ring_set_avail_idx(&f->driver.rings[0], 8);
    assert_int_equal(pthread_create(&thread, NULL, storm, f), 0);
    for (int i = 0; i < STORM; i++)
        mmio_kick(&f->device);
    assert_int_equal(pthread_join(thread, NULL), 0);
    driver_settle(&f->driver);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), RUNNING);
    assert_int_equal(f->breakages, 0);
    assert_true(f->chains >= 8);
    assert_true(f->resets > 0);
}

#define MMIO_TEST(name) cmocka_unit_test_setup_teardown(name, echo_set_up, echo_tear_down)

static const struct CMUnitTest tests[] = {
    MMIO_TEST(a_kick_before_driver_ok_is_not_lost),
    MMIO_TEST(work_per_kick_is_bounded),
    MMIO_TEST(interrupts_have_a_bit_and_an_edge),
    MMIO_TEST(a_broken_queue_wants_a_reset),
    MMIO_TEST(a_bad_queue_is_refused_at_driver_ok),
    MMIO_TEST(a_reset_forgets_what_was_pending),
    MMIO_TEST(a_reset_forgets_the_queues),
    MMIO_TEST(a_failed_driver_gets_nothing_done),
    MMIO_TEST(a_queue_that_is_not_ready_has_no_work),
    MMIO_TEST(a_running_queue_can_be_stopped),
    MMIO_TEST(threads_do_not_meet),
};

UNIT_MAIN(tests)
