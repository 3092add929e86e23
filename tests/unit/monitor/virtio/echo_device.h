/* SPDX-License-Identifier: Apache-2.0 */
/* echo_device.h: a device of two queues that gives every chain back as it is, for tests. */
#ifndef TESTS_UNIT_MONITOR_VIRTIO_ECHO_DEVICE_H
#define TESTS_UNIT_MONITOR_VIRTIO_ECHO_DEVICE_H

#include "monitor/virtio/mmio.h"
#include "tests/unit/monitor/virtio/driver.h"

enum { DATA = 0x100000, ECHO_BATCH = 4 };

#define ECHO_FEATURES 0x8000000000000041ULL

struct echo {
    struct guest_mem mem;
    struct mmio_device device;
    struct driver driver;
    struct queue_chain chain;
    int resets;
    int processed;
    int chains;
    int breakages;
    char breakage[ERR_TEXT_BYTES];
};

/* *STATE becomes a device that no driver has touched. For cmocka. */
int echo_set_up(void **state);
int echo_tear_down(void **state);

/* All that a good driver does; one descriptor per queue is ready to be offered. */
void echo_start(struct echo *f);

/* A queue is ready, or one of its registers is not zero. */
bool echo_has_queue_registers(const struct echo *f);

#endif
