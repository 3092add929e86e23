/* SPDX-License-Identifier: Apache-2.0 */
/* guest_mem.c: see guest_mem.h. Runs in the monitor; addresses and lengths are the guest's. */
#include "monitor/guest_mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"
#include "ipc/ipc.h"
#include "monitor/arch/arch.h"

enum { HUGE_PAGE_BYTES = 2 << 20 };

/* The advice is part of the speed, not of the safety: only `yes` makes its failure an error. */
static int guest_mem_advise(const struct guest_mem *mem, uint32_t hugepages, struct err *err)
{
    int advice = hugepages == HUGEPAGES_NO ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;

    if (madvise(mem->mapping, mem->mapping_bytes, MADV_DONTDUMP) < 0)
        return err_sys(err, "cannot keep guest RAM out of core dumps");
    if (madvise(mem->mapping, mem->mapping_bytes, advice) < 0 && hugepages == HUGEPAGES_YES)
        return err_sys(err, "[machine] hugepages = yes, but this host offers none");
    return 0;
}

int guest_mem_map(struct guest_mem *mem, uint64_t size_bytes, uint32_t hugepages, struct err *err)
{
    uint64_t aligned, offset = 0;
    uint8_t *base;

    /* One huge page more than needed, so that RAM can begin at a huge page boundary. */
    mem->mapping_bytes = size_bytes + HUGE_PAGE_BYTES;
    base = mmap(NULL, mem->mapping_bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return err_sys(
            err, "cannot map %llu MiB of guest RAM", (unsigned long long)(size_bytes / MIB));
    mem->mapping = base;
    aligned = align_up((uint64_t)(uintptr_t)base, HUGE_PAGE_BYTES);
    base += aligned - (uint64_t)(uintptr_t)base;
    mem->region_count = arch_memory_regions(size_bytes, mem->regions);
    for (uint32_t i = 0; i < mem->region_count; i++) {
        mem->regions[i].host = base + offset;
        offset += mem->regions[i].size_bytes;
    }
    must(offset == size_bytes);
    return guest_mem_advise(mem, hugepages, err);
}

void guest_mem_unmap(struct guest_mem *mem)
{
    if (mem->mapping)
        munmap(mem->mapping, mem->mapping_bytes);
    *mem = (struct guest_mem)GUEST_MEM_INIT;
}

void *guest_mem_range(const struct guest_mem *mem, gpa_t start, uint64_t length)
{
    if (length == 0)
        return NULL;
    for (uint32_t i = 0; i < mem->region_count; i++) {
        const struct guest_mem_region *region = &mem->regions[i];

        if (start.value >= region->gpa &&
            range_within(start.value - region->gpa, length, region->size_bytes))
            return region->host + (start.value - region->gpa);
    }
    return NULL;
}

bool guest_mem_write(const struct guest_mem *mem, gpa_t start, const void *from, size_t length)
{
    void *to = guest_mem_range(mem, start, length);

    if (to)
        memcpy(to, from, length);
    return to != NULL;
}
