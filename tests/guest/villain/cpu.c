/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c: accesses to ports and addresses where no device is, and interrupts without end. */
#include "villain/villain.h"

#include "ipc/place_x86_64.h"
#include "lib/port.h"

/* Programmable in KVM itself: writes there would change what this guest stands on. */
static bool port_is_kvms(unsigned port)
{
    return port == 0x20 || port == 0x21 || port == 0xa0 || port == 0xa1 || port == 0x4d0 ||
           port == 0x4d1;
}

static bool port_is_console(unsigned port)
{
    return port >= 0x3f8 && port < 0x400;
}

static void ports_read(unsigned size)
{
    for (unsigned port = 0; port < 65536; port += port < 0x500 ? 1 : 13) {
        if (port_is_kvms(port) || port_is_console(port))
            continue;
        if (size == 1)
            expect_equal("a port", port_in8((uint16_t)port), 0xff);
        else if (size == 2 && !port_is_kvms(port + 1) && !port_is_console(port + 1))
            expect_equal("a port", port_in16((uint16_t)port), 0xffff);
        else if (size == 4 && (port > 0x4d1 || port < 0x10))
            expect_equal("a port", port_in32((uint16_t)port), 0xffffffff);
    }
}

static void ports_written(unsigned size)
{
    for (unsigned port = 0; port < 65536; port += port < 0x500 ? 1 : 13) {
        if (port_is_kvms(port) || port_is_console(port) || port_is_kvms(port + 1))
            continue;
        if (size == 1)
            port_out8((uint16_t)port, 0xff);
        else if (size == 2)
            port_out16((uint16_t)port, 0xffff);
        else
            port_out32((uint16_t)port, 0xffffffff);
    }
}

/* One instruction, many accesses: more than fit into KVM's page at once. */
static void ports_in_strings(unsigned bytes)
{
    static uint8_t buffer[64 * KIB];

    memset(buffer, 0, bytes);
    port_in_string(0x80, buffer, bytes);
    for (unsigned i = 0; i < bytes; i++)
        expect_equal("a port", buffer[i], 0xff);
    port_out_string(0x80, buffer, bytes);
}

/* The console's registers, all of them, with every size; the text must still come out. */
static void console_registers(unsigned unused)
{
    (void)unused;
    for (unsigned port = 0x3f9; port < 0x400; port++) {
        for (unsigned value = 0; value < 256; value += 5)
            port_out8((uint16_t)port, (uint8_t)value);
        (void)port_in8((uint16_t)port);
        (void)port_in16((uint16_t)port);
        (void)port_in32((uint16_t)port);
        port_out16((uint16_t)port, 0);
        port_out32((uint16_t)port, 0);
    }
    (void)port_in16(0x3f7); /* the console would be its second byte */
    port_out8(0x3fb, 0);    /* not the divisor: data again */
}

/* Addresses in the hole where nothing is. */
static void nowhere(unsigned size)
{
    for (uint64_t gpa = 0xd0010000; gpa < 0xfec00000; gpa += 0x7ff000) {
        for (uint64_t offset = 0; offset < 4; offset++) {
            uint64_t all = size == 8 ? ~0ULL : (1ULL << (8 * size)) - 1;

            access_write(gpa + offset * size, size, 0);
            expect_equal("an address", access_read(gpa + offset * size, size), all);
        }
    }
}

/* Across the end of one device's page into the next, and past the last device. */
static void across_pages(unsigned size)
{
    for (uint64_t page = 0; page <= 8; page++) {
        uint64_t end = PLACE_X86_64_DEVICES_GPA + page * PLACE_X86_64_DEVICE_BYTES;

        for (uint64_t before = 1; before < size; before++) {
            (void)access_read(end - before, size);
            access_write(end - before, size, ~0ULL);
        }
    }
}

/* Read, change, write in one instruction, which KVM does in two accesses. */
static void read_modify_write(unsigned unused)
{
    struct device device = device_find(ID_BLOCK, DISK_SCRATCH);
    volatile uint32_t *status = (volatile uint32_t *)(device.gpa + REG_STATUS);

    (void)unused;
    reg_write(&device, REG_STATUS, 0);
    __asm__ volatile("lock orl $1, %0" : "+m"(*status) : : "memory");
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACKNOWLEDGE);
    __asm__ volatile("xchgl %0, %1" : "+m"(*status), "+r"((uint32_t){0}) : : "memory");
    expect_equal("status", reg_read(&device, REG_STATUS), 0);
}

/* A string instruction over the registers of all devices. */
static void strings(unsigned unused)
{
    static uint8_t buffer[8 * WINDOW_BYTES];
    const void *from = (const void *)PLACE_X86_64_DEVICES_GPA;

    (void)unused;
    memcpy(buffer, from, 2 * WINDOW_BYTES);
    memset((void *)(PLACE_X86_64_DEVICES_GPA + REG_CONFIG), 0xff, 256);
}

/* 16 bytes in one instruction, which KVM hands out in two halves: registers have 4 (§4.2.2.2). */
static void wide(unsigned unused)
{
    static uint64_t value[2] __attribute__((aligned(16)));
    struct device device = device_find(ID_BLOCK, DISK_SCRATCH);
    const uint64_t fxsave_and_exceptions = 0x600;
    uint64_t cr4;

    (void)unused;
    villain_disk_serves();
    __asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
    __asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | fxsave_and_exceptions));
    for (uint64_t offset = 0; offset + 16 <= REG_CONFIG; offset += 4) {
        value[0] = value[1] = 1;
        __asm__ volatile("movups (%0), %%xmm0; movaps %%xmm0, (%1)"
                         :
                         : "r"(device.gpa + offset), "r"(value)
                         : "memory");
        expect_equal("the first half", value[0], 0);
        expect_equal("the second half", value[1], 0);
        __asm__ volatile("movups %%xmm0, (%0)" : : "r"(device.gpa + offset) : "memory");
    }
    /* From the last device's last bytes into nothing. */
    __asm__ volatile("movups (%0), %%xmm0; movups %%xmm0, (%0)"
                     :
                     : "r"(device_find(ID_VSOCK, 0).gpa + WINDOW_BYTES - 8)
                     : "memory");
    expect_equal("status", reg_read(&device, REG_STATUS), STATUS_ACTIVE);
}

enum {
    LAPIC_SPURIOUS = 0xf0,
    LAPIC_TIMER = 0x320,
    LAPIC_INITIAL = 0x380,
    LAPIC_DIVIDE = 0x3e0,
    LAPIC_PERIODIC = 1 << 17,
    LAPIC_MASKED = 1 << 16,
    LAPIC_ENABLED = 0x1ff,
    TIMER_VECTOR = 32,
};

extern volatile uint32_t timer_ticks;

/* HLT and be woken, again and again. */
static void halt_storm(unsigned ticks)
{
    const uint64_t lapic = 0xfee00000;
    uint32_t first = timer_ticks;

    access_write(lapic + LAPIC_SPURIOUS, 4, LAPIC_ENABLED);
    access_write(lapic + LAPIC_DIVIDE, 4, 0xb);
    access_write(lapic + LAPIC_TIMER, 4, LAPIC_PERIODIC | TIMER_VECTOR);
    access_write(lapic + LAPIC_INITIAL, 4, 10000);
    while (timer_ticks - first < ticks)
        __asm__ volatile("sti; hlt; cli" : : : "memory");
    access_write(lapic + LAPIC_INITIAL, 4, 0);
    access_write(lapic + LAPIC_TIMER, 4, LAPIC_MASKED | TIMER_VECTOR);
}

static const struct guest_case cases[] = {
    {"all ports read with 1 byte", "none", ports_read, 1},
    {"all ports read with 2 bytes", "none", ports_read, 2},
    {"all ports read with 4 bytes", "none", ports_read, 4},
    {"all ports written with 1 byte", "none", ports_written, 1},
    {"all ports written with 2 bytes", "none", ports_written, 2},
    {"all ports written with 4 bytes", "none", ports_written, 4},
    {"a string of 4096 bytes", "none", ports_in_strings, 4096},
    {"a string of 64 KiB", "none", ports_in_strings, 65536},
    {"the console's registers", "none", console_registers, 0},
    {"no device, 1 byte", "none", nowhere, 1},
    {"no device, 2 bytes", "none", nowhere, 2},
    {"no device, 4 bytes", "none", nowhere, 4},
    {"no device, 8 bytes", "none", nowhere, 8},
    {"across pages, 2 bytes", "none", across_pages, 2},
    {"across pages, 4 bytes", "none", across_pages, 4},
    {"across pages, 8 bytes", "none", across_pages, 8},
    {"read, change and write of the status", "4.2.2", read_modify_write, 0},
    {"strings over registers", "4.2.2", strings, 0},
    {"accesses of 16 bytes", "4.2.2.2", wide, 0},
    {"a storm of HLT", "none", halt_storm, 2000},
};

void villain_cpu(void)
{
    cases_run(cases, ARRAY_COUNT(cases), villain_disk_serves);
}
