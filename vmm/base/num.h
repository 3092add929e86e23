/* SPDX-License-Identifier: Apache-2.0 */
/*
 * num.h: checked numbers and little-endian fields (all processes). Ranges are (start, length);
 * nothing here wraps silently.
 */
#ifndef VMM_BASE_NUM_H
#define VMM_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB (1024ULL)
#define MIB (1024ULL * KIB)
#define GIB (1024ULL * MIB)

/* *SUM = A + B; false (and *SUM untouched) when that does not fit. */
static inline bool u64_add(uint64_t a, uint64_t b, uint64_t *sum)
{
    uint64_t value;

    if (__builtin_add_overflow(a, b, &value))
        return false;
    *sum = value;
    return true;
}

/* *PRODUCT = A * B; false (and *PRODUCT untouched) when that does not fit. */
static inline bool u64_mul(uint64_t a, uint64_t b, uint64_t *product)
{
    uint64_t value;

    if (__builtin_mul_overflow(a, b, &value))
        return false;
    *product = value;
    return true;
}

/* True when (START, LENGTH) lies inside (0, LIMIT). */
static inline bool range_within(uint64_t start, uint64_t length, uint64_t limit)
{
    return length <= limit && start <= limit - length;
}

/* True when the two ranges share a byte; both must already be known not to wrap. */
static inline bool range_overlaps(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length)
{
    return a_length > 0 && b_length > 0 && a < b + b_length && b < a + a_length;
}

/* Round up to ALIGN, a power of two; the caller has made sure that it cannot wrap. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Little-endian fields in byte buffers, at any alignment. */
static inline uint16_t le16_load(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | (bytes[1] << 8));
}

static inline uint32_t le32_load(const uint8_t *bytes)
{
    return (uint32_t)le16_load(bytes) | ((uint32_t)le16_load(bytes + 2) << 16);
}

static inline uint64_t le64_load(const uint8_t *bytes)
{
    return (uint64_t)le32_load(bytes) | ((uint64_t)le32_load(bytes + 4) << 32);
}

static inline void le16_store(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value & 0xff);
    bytes[1] = (uint8_t)(value >> 8);
}

static inline void le32_store(uint8_t *bytes, uint32_t value)
{
    le16_store(bytes, (uint16_t)(value & 0xffff));
    le16_store(bytes + 2, (uint16_t)(value >> 16));
}

static inline void le64_store(uint8_t *bytes, uint64_t value)
{
    le32_store(bytes, (uint32_t)(value & 0xffffffffU));
    le32_store(bytes + 4, (uint32_t)(value >> 32));
}

#endif
