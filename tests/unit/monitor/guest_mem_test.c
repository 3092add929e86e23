/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/num.h"
#include "ipc/ipc.h"
#include "monitor/guest_mem.h"

static struct guest_mem mapped(uint64_t size)
{
    struct guest_mem mem = GUEST_MEM_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(guest_mem_map(&mem, size, HUGEPAGES_NO, &err), 0);
    return mem;
}

static void ranges_end_where_ram_ends(void **state)
{
    struct guest_mem mem = mapped(16 * MIB);

    (void)state;
    assert_int_equal(mem.region_count, 1);
    assert_non_null(guest_mem_range(&mem, gpa(0), 16 * MIB));
    assert_non_null(guest_mem_range(&mem, gpa(16 * MIB - 1), 1));
    assert_null(guest_mem_range(&mem, gpa(16 * MIB), 1));
    assert_null(guest_mem_range(&mem, gpa(16 * MIB - 1), 2));
    assert_null(guest_mem_range(&mem, gpa(0), 16 * MIB + 1));
    assert_null(guest_mem_range(&mem, gpa(0), 0));
    assert_null(guest_mem_range(&mem, gpa(1), UINT64_MAX));
    assert_null(guest_mem_range(&mem, gpa(UINT64_MAX), 1));
    assert_null(guest_mem_range(&mem, gpa(UINT64_MAX), 2));
    guest_mem_unmap(&mem);
}

static void the_hole_belongs_to_neither_region(void **state)
{
    struct guest_mem mem = mapped(4 * GIB);

    (void)state;
    assert_int_equal(mem.region_count, 2);
    assert_non_null(guest_mem_range(&mem, gpa(0), 3 * GIB));
    assert_null(guest_mem_range(&mem, gpa(3 * GIB - 1), 2));
    assert_null(guest_mem_range(&mem, gpa(3 * GIB), 1));
    assert_null(guest_mem_range(&mem, gpa(4 * GIB - 1), 2));
    assert_non_null(guest_mem_range(&mem, gpa(4 * GIB), GIB));
    assert_null(guest_mem_range(&mem, gpa(4 * GIB), GIB + 1));
    assert_null(guest_mem_range(&mem, gpa(0), 5 * GIB));
    /* The regions follow each other in the mapping, and do not overlap. */
    assert_ptr_equal(mem.regions[1].host, mem.regions[0].host + 3 * GIB);
    guest_mem_unmap(&mem);
}

static void copies_are_whole_or_nothing(void **state)
{
    struct guest_mem mem = mapped(2 * MIB);
    uint8_t out[8] = "abcdefg";
    const uint8_t *end = guest_mem_range(&mem, gpa(2 * MIB - 8), 8);

    (void)state;
    assert_non_null(end);
    assert_true(guest_mem_write(&mem, gpa(2 * MIB - 8), out, 8));
    assert_memory_equal(end, out, 8);
    assert_false(guest_mem_write(&mem, gpa(2 * MIB - 7), out, 8));
    assert_memory_equal(end, out, 8);
    guest_mem_unmap(&mem);
    assert_null(mem.mapping);
}

static void ram_begins_at_a_huge_page(void **state)
{
    struct guest_mem mem = mapped(4 * MIB);

    (void)state;
    assert_int_equal((uintptr_t)mem.regions[0].host % (2 * MIB), 0);
    guest_mem_unmap(&mem);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(ranges_end_where_ram_ends),
    cmocka_unit_test(the_hole_belongs_to_neither_region),
    cmocka_unit_test(copies_are_whole_or_nothing),
    cmocka_unit_test(ram_begins_at_a_huge_page),
};

UNIT_MAIN(tests)
