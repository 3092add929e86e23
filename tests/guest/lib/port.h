/* SPDX-License-Identifier: Apache-2.0 */
/* port.h: x86 instructions that C has no words for. */
#ifndef TESTS_GUEST_LIB_PORT_H
#define TESTS_GUEST_LIB_PORT_H

#include <stdint.h>

static inline void port_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void port_out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void port_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline uint8_t port_in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint16_t port_in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint32_t port_in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

/* COUNT bytes in one instruction, and so in few exits. */
static inline void port_out_string(uint16_t port, const void *bytes, uint64_t count)
{
    __asm__ volatile("rep outsb" : "+S"(bytes), "+c"(count) : "d"(port) : "memory");
}

static inline void port_in_string(uint16_t port, void *bytes, uint64_t count)
{
    __asm__ volatile("rep insb" : "+D"(bytes), "+c"(count) : "d"(port) : "memory");
}

#endif
