/* SPDX-License-Identifier: Apache-2.0 */
/* mmio.c: see mmio.h. */
#include "lib/mmio.h"

#include "ipc/place_x86_64.h"

enum { DEVICES_MAX = 8, MAGIC = 0x74726976 };

uint64_t access_read(uint64_t gpa, unsigned size)
{
    switch (size) {
    case 1:
        return *(volatile uint8_t *)gpa;
    case 2:
        return *(volatile uint16_t *)gpa;
    case 4:
        return *(volatile uint32_t *)gpa;
    default:
        return *(volatile uint64_t *)gpa;
    }
}

void access_write(uint64_t gpa, unsigned size, uint64_t value)
{
    switch (size) {
    case 1:
        *(volatile uint8_t *)gpa = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)gpa = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)gpa = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)gpa = value;
        break;
    }
}

struct device device_find(uint32_t id, unsigned index)
{
    for (uint64_t i = 0; i < DEVICES_MAX; i++) {
        struct device device = {PLACE_X86_64_DEVICES_GPA + i * PLACE_X86_64_DEVICE_BYTES, id};

        if (reg_read(&device, REG_MAGIC) == MAGIC && reg_read(&device, REG_DEVICE_ID) == id &&
            index-- == 0)
            return device;
    }
    guest_die("a device is missing");
}

void status_add(const struct device *device, uint32_t bits)
{
    reg_write(device, REG_STATUS, reg_read(device, REG_STATUS) | bits);
}

uint64_t features_offered(const struct device *device)
{
    uint64_t features;

    reg_write(device, REG_DEVICE_FEATURES_SELECT, 1);
    features = (uint64_t)reg_read(device, REG_DEVICE_FEATURES) << 32;
    reg_write(device, REG_DEVICE_FEATURES_SELECT, 0);
    return features | reg_read(device, REG_DEVICE_FEATURES);
}

void features_write(const struct device *device, uint64_t features)
{
    reg_write(device, REG_DRIVER_FEATURES_SELECT, 1);
    reg_write(device, REG_DRIVER_FEATURES, (uint32_t)(features >> 32));
    reg_write(device, REG_DRIVER_FEATURES_SELECT, 0);
    reg_write(device, REG_DRIVER_FEATURES, (uint32_t)features);
}

void device_negotiate(const struct device *device, uint64_t features)
{
    reg_write(device, REG_STATUS, 0);
    status_add(device, STATUS_ACKNOWLEDGE);
    status_add(device, STATUS_DRIVER);
    features_write(device, features);
    status_add(device, STATUS_FEATURES_OK);
}

static bool reg_await(const struct device *device, uint32_t offset, uint32_t bits)
{
    for (unsigned i = 0; i < PATIENCE; i++) {
        if ((reg_read(device, offset) & bits) == bits)
            return true;
    }
    return false;
}

bool status_await(const struct device *device, uint32_t bits)
{
    return reg_await(device, REG_STATUS, bits);
}

bool interrupt_await(const struct device *device, uint32_t bits)
{
    return reg_await(device, REG_INTERRUPT_STATUS, bits);
}
