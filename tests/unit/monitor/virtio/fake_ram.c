/* SPDX-License-Identifier: Apache-2.0 */
/* fake_ram.c: see fake_ram.h. */
#include "tests/unit/monitor/virtio/fake_ram.h"

#include <stdlib.h>
#include <string.h>

#include "monitor/arch/arch.h"

/* guest_mem.c is linked for guest_mem_range(); nothing here maps RAM for a real guest. */
uint32_t arch_memory_regions(
    uint64_t size_bytes, struct guest_mem_region regions[GUEST_MEM_REGIONS_MAX])
{
    (void)size_bytes;
    (void)regions;
    abort();
}

static struct guest_mem_region region_make(uint64_t address, uint64_t size)
{
    struct guest_mem_region region = {.gpa = address, .size_bytes = size};

    region.host = aligned_alloc(4096, size);
    must(region.host != NULL);
    memset(region.host, 0, size);
    return region;
}

void fake_ram_make(struct guest_mem *mem)
{
    *mem = (struct guest_mem){.region_count = 2};
    mem->regions[0] = region_make(0, FAKE_LOW_BYTES);
    mem->regions[1] = region_make(FAKE_HIGH_GPA, FAKE_HIGH_BYTES);
}

void fake_ram_free(struct guest_mem *mem)
{
    free(mem->regions[0].host);
    free(mem->regions[1].host);
    *mem = (struct guest_mem)GUEST_MEM_INIT;
}

uint8_t *fake_ram_at(const struct guest_mem *mem, uint64_t address, uint64_t size)
{
    uint8_t *host = guest_mem_range(mem, gpa(address), size);

    must(host != NULL);
    return host;
}
