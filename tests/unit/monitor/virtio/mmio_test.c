/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* LINK: tests/unit/monitor/virtio/echo_device.c -pthread */
/* mmio_test.c: the register machine: every register at every status. */
#include "tests/unit/monitor/virtio/echo_device.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/monitor/virtio/fake_ram.h"

static void identity_is_readable_at_any_time(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;

    assert_int_equal(driver_read(driver, REG_MAGIC), 0x74726976);
    assert_int_equal(driver_read(driver, REG_VERSION), 2);
    assert_int_equal(driver_read(driver, REG_DEVICE_ID), 42);
    assert_int_equal(driver_read(driver, REG_STATUS), 0);
    assert_int_equal(driver_read(driver, REG_CONFIG_GENERATION), 0);
    assert_int_equal(driver_read(driver, 0x0b0), UINT32_MAX); /* no shared memory */
    assert_int_equal(driver_read(driver, 0x0bc), UINT32_MAX);
    assert_int_equal(driver_read(driver, 0x0c0), 0); /* QueueReset was not negotiated */
}

static void features_are_selected(void **state)
{
    struct echo *f = *state;
    struct driver *driver = &f->driver;
    static const struct {
        uint32_t select, features;
    } cases[] = {{0, 0x41}, {1, 0x80000001}, {2, 0}, {UINT32_MAX, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        driver_write(driver, REG_DEVICE_FEATURES_SEL, cases[i].select);
        assert_int_equal(driver_read(driver, REG_DEVICE_FEATURES), cases[i].features);
    }
}

static void only_an_offered_subset_with_version_1_is_accepted(void **state)
{
    static const struct {
        uint64_t features;
        bool good;
    } cases[] = {
        {VIRTIO_F_VERSION_1, true},
        {VIRTIO_F_VERSION_1 | ECHO_FEATURES, true},
        {VIRTIO_F_VERSION_1 | 0x40, true},
        {ECHO_FEATURES, false},
        {0, false},
        {VIRTIO_F_VERSION_1 | 0x80, false},
        {VIRTIO_F_VERSION_1 | (1ULL << 28), false}, /* INDIRECT_DESC */
        {VIRTIO_F_VERSION_1 | (1ULL << 29), false}, /* EVENT_IDX */
        {VIRTIO_F_VERSION_1 | (1ULL << 34), false}, /* RING_PACKED */
        {UINT64_MAX, false},
    };
    struct echo *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        driver_negotiate(&f->driver, cases[i].features);
        assert_int_equal(driver_read(&f->driver, REG_STATUS),
            ACKNOWLEDGE | DRIVER | (cases[i].good ? FEATURES_OK : 0));
        for (int bit = 0; bit < 64; bit++)
            assert_int_equal(mmio_has_feature(&f->device, 1ULL << bit),
                cases[i].good && (cases[i].features >> bit & 1));
    }
    /* Bits past 63 exist as well. */
    driver_write(&f->driver, REG_STATUS, 0);
    driver_write(&f->driver, REG_STATUS, ACKNOWLEDGE);
    driver_write(&f->driver, REG_STATUS, ACKNOWLEDGE | DRIVER);
    driver_write(&f->driver, REG_DRIVER_FEATURES_SEL, 1);
    driver_write(&f->driver, REG_DRIVER_FEATURES, 1);
    driver_write(&f->driver, REG_DRIVER_FEATURES_SEL, 2);
    driver_write(&f->driver, REG_DRIVER_FEATURES, 1);
    driver_write(&f->driver, REG_STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
    assert_int_equal(driver_read(&f->driver, REG_STATUS), ACKNOWLEDGE | DRIVER);
}

/* Bring the device to one of the statuses that a driver goes through. */
static void bring_to(struct echo *f, uint32_t status)
{
    struct driver *driver = &f->driver;

    driver_write(driver, REG_STATUS, 0);
    if (status & ACKNOWLEDGE)
        driver_write(driver, REG_STATUS, ACKNOWLEDGE);
    if (status & DRIVER)
        driver_write(driver, REG_STATUS, ACKNOWLEDGE | DRIVER);
    if (status & FEATURES_OK)
        driver_negotiate(driver, VIRTIO_F_VERSION_1);
    if (status & DRIVER_OK)
        driver_write(driver, REG_STATUS, RUNNING);
    if (status & FAILED)
        driver_write(driver, REG_STATUS, driver_read(driver, REG_STATUS) | FAILED);
    assert_int_equal(driver_read(driver, REG_STATUS), status);
}

static const uint32_t STATUSES[] = {
    0,
    ACKNOWLEDGE,
    ACKNOWLEDGE | DRIVER,
    ACKNOWLEDGE | DRIVER | FEATURES_OK,
    RUNNING,
    FAILED,
    ACKNOWLEDGE | DRIVER | FEATURES_OK | FAILED,
    RUNNING | FAILED,
};

enum { STATUS_COUNT = sizeof(STATUSES) / sizeof(STATUSES[0]) };

static void status_goes_one_step_at_a_time(void **state)
{
    static const uint32_t steps[] = {
        0, ACKNOWLEDGE, ACKNOWLEDGE | DRIVER, ACKNOWLEDGE | DRIVER | FEATURES_OK, RUNNING};
    struct echo *f = *state;

    for (size_t from = 0; from < 5; from++) {
        for (uint32_t value = 1; value <= 0x1ff; value++) {
            bool next = from < 4 && from != 2 && (value & ~64U) == steps[from + 1];
            bool failed = (value & ~64U) == (steps[from] | FAILED);
            uint32_t expected = next     ? steps[from + 1]
                                : failed ? steps[from] | FAILED
                                         : steps[from];

            bring_to(f, steps[from]);
            /* From ACKNOWLEDGE | DRIVER the features decide; they were not negotiated here. */
            driver_write(&f->driver, REG_STATUS, value);
            assert_int_equal(driver_read(&f->driver, REG_STATUS), expected);
        }
    }
}

static void every_register_at_every_status(void **state)
{
    struct echo *f = *state;

    for (int s = 0; s < STATUS_COUNT; s++) {
        for (uint64_t offset = 0; offset < MMIO_WINDOW_BYTES; offset++) {
            bool configuring = STATUSES[s] == (ACKNOWLEDGE | DRIVER | FEATURES_OK);
            bool queue_register = offset == REG_QUEUE_NUM || offset == REG_QUEUE_READY ||
                                  offset == REG_QUEUE_DESC_LOW || offset == REG_QUEUE_DESC_HIGH ||
                                  offset == REG_QUEUE_DRIVER_LOW ||
                                  offset == REG_QUEUE_DRIVER_HIGH ||
                                  offset == REG_QUEUE_DEVICE_LOW || offset == REG_QUEUE_DEVICE_HIGH;
            uint64_t features;

            if (offset == REG_STATUS)
                continue;
            bring_to(f, STATUSES[s]);
            features = f->device.driver_features;
            driver_write(&f->driver, offset, 1);
            assert_int_equal(driver_read(&f->driver, REG_STATUS), STATUSES[s]);
            assert_int_equal(echo_has_queue_registers(f), configuring && queue_register);
            if (offset != REG_DRIVER_FEATURES || STATUSES[s] != (ACKNOWLEDGE | DRIVER))
                assert_int_equal(f->device.driver_features, features);
            assert_null(f->device.queues[0].queue.desc);
        }
    }
}

static void a_ready_queue_is_frozen(void **state)
{
    struct echo *f = *state;
    struct driver_ring ring = ring_place(&f->mem, 0, 8);
    struct queue_registers before;

    driver_negotiate(&f->driver, VIRTIO_F_VERSION_1);
    driver_set_queue(&f->driver, 0, &ring);
    before = f->device.queues[0].registers;
    driver_write(&f->driver, REG_QUEUE_READY, 1);
    assert_int_equal(driver_read(&f->driver, REG_QUEUE_READY), 1);
    for (uint64_t offset = 0; offset < REG_CONFIG; offset += 4) {
        if (offset == REG_STATUS || offset == REG_QUEUE_READY || offset == REG_QUEUE_SEL)
            continue;
        driver_write(&f->driver, offset, 0x55555555);
    }
    assert_memory_equal(&f->device.queues[0].registers, &before, sizeof(before));
    driver_write(&f->driver, REG_QUEUE_READY, 2); /* neither 0 nor 1 */
    assert_int_equal(driver_read(&f->driver, REG_QUEUE_READY), 1);
    driver_write(&f->driver, REG_QUEUE_READY, 0);
    assert_int_equal(driver_read(&f->driver, REG_QUEUE_READY), 0);
    driver_write(&f->driver, REG_QUEUE_NUM, 16);
    assert_int_equal(f->device.queues[0].registers.raw_size, 16);
}

/* CVE-2026-5747: size and addresses of an active queue must not be writable. */
static void an_active_queue_is_frozen(void **state)
{
    struct echo *f = *state;
    struct queue before;

    echo_start(f);
    before = f->device.queues[0].queue;
    driver_write(&f->driver, REG_QUEUE_SEL, 0);
    for (int round = 0; round < 2; round++) {
        for (uint64_t offset = 0; offset < REG_CONFIG; offset += 4) {
            if (offset != REG_STATUS && offset != REG_QUEUE_SEL && offset != REG_QUEUE_READY)
                driver_write(&f->driver, offset, round == 0 ? 0 : 0x8000);
        }
    }
    driver_write(&f->driver, REG_QUEUE_READY, 0x8000);
    driver_write(&f->driver, REG_QUEUE_READY, 1);
    assert_memory_equal(&f->device.queues[0].queue, &before, sizeof(before));
    assert_int_equal(driver_read(&f->driver, REG_QUEUE_READY), 1);
    ring_offer(&f->driver.rings[0], 0);
    driver_write(&f->driver, REG_QUEUE_NOTIFY, 0);
    driver_settle(&f->driver);
    assert_int_equal(f->chains, 1);
}

static void a_queue_that_is_not_there(void **state)
{
    static const uint32_t selects[] = {2, 3, 31, 0x7fffffff, 0x80000000, UINT32_MAX};
    struct echo *f = *state;

    driver_negotiate(&f->driver, VIRTIO_F_VERSION_1);
    driver_write(&f->driver, REG_QUEUE_SEL, 1);
    assert_int_equal(driver_read(&f->driver, REG_QUEUE_NUM_MAX), QUEUE_SIZE_MAX);
    for (size_t i = 0; i < sizeof(selects) / sizeof(selects[0]); i++) {
        driver_write(&f->driver, REG_QUEUE_SEL, selects[i]);
        assert_int_equal(driver_read(&f->driver, REG_QUEUE_NUM_MAX), 0);
        driver_write(&f->driver, REG_QUEUE_NUM, 8);
        driver_write(&f->driver, REG_QUEUE_READY, 1);
        assert_int_equal(driver_read(&f->driver, REG_QUEUE_READY), 0);
        assert_false(echo_has_queue_registers(f));
        driver_write(&f->driver, REG_QUEUE_NOTIFY, selects[i]);
    }
    driver_settle(&f->driver);
    assert_int_equal(f->processed, 0);
}

static void registers_take_four_bytes_only(void **state)
{
    struct echo *f = *state;
    uint8_t bytes[8] = {1, 0, 0, 0, 0, 0, 0, 0};

    for (uint32_t size = 1; size <= 8; size++) {
        if (size == 4)
            continue;
        mmio_write(&f->device, REG_STATUS, bytes, size);
        assert_int_equal(driver_read(&f->driver, REG_STATUS), 0);
        memset(bytes, 0xee, sizeof(bytes));
        mmio_read(&f->device, REG_MAGIC, bytes, size);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(bytes[i], i < size ? 0 : 0xee);
        memset(bytes, 0, sizeof(bytes));
        bytes[0] = 1;
    }
    for (uint64_t offset = REG_STATUS - 3; offset <= REG_STATUS + 3; offset++) {
        if (offset != REG_STATUS)
            mmio_write(&f->device, offset, bytes, 4);
        assert_int_equal(driver_read(&f->driver, REG_STATUS), 0);
    }
}

static void config_takes_aligned_accesses_inside(void **state)
{
    struct echo *f = *state;

    for (uint32_t size = 1; size <= 8; size++) {
        for (uint32_t at = 0; at <= 16; at++) {
            bool good = (size == 1 || size == 2 || size == 4 || size == 8) && at % size == 0 &&
                        at + size <= 12;
            uint8_t bytes[9];

            memset(bytes, 0xee, sizeof(bytes));
            mmio_read(&f->device, REG_CONFIG + at, bytes, size);
            for (uint32_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], good ? at + i + 1 : 0);
            assert_int_equal(bytes[size], 0xee);
            memset(bytes, 0x77, sizeof(bytes));
            mmio_write(&f->device, REG_CONFIG + at, bytes, size);
        }
    }
    assert_int_equal(f->device.model.config[0], 1);
    assert_int_equal(f->device.model.config[11], 12);
}

static void offsets_past_the_window(void **state)
{
    static const uint64_t offsets[] = {MMIO_WINDOW_BYTES, 1ULL << 32, UINT64_MAX - 7, UINT64_MAX};
    struct echo *f = *state;
    uint8_t bytes[8];

    for (size_t i = 0; i < 4; i++) {
        for (uint32_t size = 1; size <= 8; size *= 2) {
            memset(bytes, 0xee, sizeof(bytes));
            mmio_read(&f->device, offsets[i], bytes, size);
            assert_int_equal(bytes[0], 0);
            mmio_write(&f->device, offsets[i], bytes, size);
        }
    }
}

/* A count at its end: nothing is lost, as the eventfd is readable. */
static void a_bell_that_rings_already(void **state)
{
    const uint64_t full = UINT64_MAX - 1;
    struct echo *f = *state;
    uint64_t rings = 0;
    int fd = f->device.wiring.bell_fd;

    (void)read(fd, &rings, sizeof(rings));
    assert_int_equal(write(fd, &full, sizeof(full)), sizeof(full));
    mmio_wake(&f->device);
    assert_int_equal(read(fd, &rings, sizeof(rings)), sizeof(rings));
    assert_int_equal(rings, full);
}

/* Not a hang of the guest later: a bug of ours is seen where it is. */
static void a_bell_that_is_not_there(void **state)
{
    struct echo *f = *state;
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        signal(SIGILL, SIG_DFL); /* cmocka's else, which goes on */
        close(f->device.wiring.bell_fd);
        mmio_wake(&f->device);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
}

#define MMIO_TEST(name) cmocka_unit_test_setup_teardown(name, echo_set_up, echo_tear_down)

static const struct CMUnitTest tests[] = {
    MMIO_TEST(identity_is_readable_at_any_time),
    MMIO_TEST(features_are_selected),
    MMIO_TEST(only_an_offered_subset_with_version_1_is_accepted),
    MMIO_TEST(status_goes_one_step_at_a_time),
    MMIO_TEST(every_register_at_every_status),
    MMIO_TEST(a_ready_queue_is_frozen),
    MMIO_TEST(an_active_queue_is_frozen),
    MMIO_TEST(a_queue_that_is_not_there),
    MMIO_TEST(registers_take_four_bytes_only),
    MMIO_TEST(config_takes_aligned_accesses_inside),
    MMIO_TEST(offsets_past_the_window),
    MMIO_TEST(a_bell_that_rings_already),
    MMIO_TEST(a_bell_that_is_not_there),
};

UNIT_MAIN(tests)
