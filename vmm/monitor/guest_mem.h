/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_mem.h: guest RAM. The only place where a guest physical address becomes a pointer.
 *
 * RAM is one private anonymous mapping; at guest physical addresses it lies in one or two regions,
 * with the hole for devices below 4 GiB (arch.h says where). A range is usable only when it lies in
 * one region as a whole. The guest changes RAM at any time: read a value once into a local, check
 * the local, use the local.
 */
#ifndef VMM_MONITOR_GUEST_MEM_H
#define VMM_MONITOR_GUEST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A guest physical address. A struct, so that it is never mixed up with a pointer or a length. */
typedef struct {
    uint64_t value;
} gpa_t;

enum { GUEST_MEM_REGIONS_MAX = 2 };

struct guest_mem_region {
    uint64_t gpa;
    uint64_t size_bytes;
    uint8_t *host;
};

struct guest_mem {
    uint8_t *mapping; /* NULL: not mapped */
    uint64_t mapping_bytes;
    uint32_t region_count;
    struct guest_mem_region regions[GUEST_MEM_REGIONS_MAX];
};

#define GUEST_MEM_INIT                                                                             \
    {                                                                                              \
        .mapping = NULL                                                                            \
    }

static inline gpa_t gpa(uint64_t value)
{
    return (gpa_t){value};
}

/* Map SIZE_BYTES of RAM: MADV_DONTDUMP, and huge pages as asked (enum ipc_hugepages). */
int guest_mem_map(struct guest_mem *mem, uint64_t size_bytes, uint32_t hugepages, struct err *err);
void guest_mem_unmap(struct guest_mem *mem);

/*
 * The host address of (START, LENGTH), or NULL when that is not wholly inside one region. LENGTH 0
 * is NULL. Valid until guest_mem_unmap(). The bytes behind it are the guest's.
 */
void *guest_mem_range(const struct guest_mem *mem, gpa_t start, uint64_t length);

/* Copy into guest RAM; false, and nothing copied, when the range is not RAM. */
bool guest_mem_write(const struct guest_mem *mem, gpa_t start, const void *from, size_t length);

#endif
