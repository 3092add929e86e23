/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <libfdt.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "monitor/arch/arch.h"
#include "monitor/arch/x86_64/hardware.h"
#include "monitor/arch/x86_64/layout.h"

static uint8_t bytes[LAYOUT_DTB_BYTES];

static uint32_t cell(int node, const char *name, int index)
{
    int length;
    const fdt32_t *cells = fdt_getprop(bytes, node, name, &length);

    assert_non_null(cells);
    assert_true(length > index * 4);
    return fdt32_to_cpu(cells[index]);
}

static void the_tree_describes_every_device(void **state)
{
    struct err err = ERR_INIT;
    char path[64];

    (void)state;
    assert_true(hardware_devicetree(bytes, sizeof(bytes), 2, ARCH_DEVICES_MAX, &err) > 0);
    assert_int_equal(fdt_check_full(bytes, sizeof(bytes)), 0);
    for (uint32_t i = 0; i < ARCH_DEVICES_MAX; i++) {
        int node;

        snprintf(
            path, sizeof(path), "/soc/virtio@%llx", (unsigned long long)arch_device_gpa(i).value);
        node = fdt_path_offset(bytes, path);
        assert_true(node > 0);
        assert_int_equal(cell(node, "reg", 0), arch_device_gpa(i).value);
        assert_int_equal(cell(node, "reg", 1), ARCH_DEVICE_BYTES);
        assert_int_equal(cell(node, "interrupts", 0), arch_device_gsi(i));
        assert_int_equal(cell(node, "interrupts", 1), 3);
    }
    assert_true(fdt_path_offset(bytes, "/cpus/cpu@1") > 0);
    assert_true(fdt_path_offset(bytes, "/cpus/cpu@2") < 0);
    assert_int_equal(cell(fdt_path_offset(bytes, "/cpus/cpu@1"), "reg", 0), 1);
}

static void no_device_no_node(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_true(hardware_devicetree(bytes, sizeof(bytes), 1, 0, &err) > 0);
    assert_true(fdt_path_offset(bytes, "/soc/virtio@d0000000") < 0);
}

static void a_tree_that_does_not_fit_is_an_error(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(hardware_devicetree(bytes, 256, 1, 5, &err), 0);
    assert_true(err_is_set(&err));
    /* The largest machine fits. */
    assert_true(hardware_devicetree(bytes, sizeof(bytes) - 16, 16, ARCH_DEVICES_MAX, &err) > 0);
}

static uint8_t sum_of(const uint8_t *at, size_t size)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + at[i]);
    return sum;
}

static void the_mp_table_adds_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (uint32_t cpus = 1; cpus <= 16; cpus++) {
        size_t size = hardware_mptable(bytes, 1024, LAYOUT_MPTABLE, cpus, &err);
        const uint8_t *table = bytes + 16;

        assert_true(size > 16 + 44);
        assert_memory_equal(bytes, "_MP_", 4);
        assert_int_equal(le32_load(bytes + 4), LAYOUT_MPTABLE + 16);
        assert_int_equal(sum_of(bytes, 16), 0);
        assert_memory_equal(table, "PCMP", 4);
        assert_int_equal(le16_load(table + 4), size - 16);
        assert_int_equal(le16_load(table + 34), cpus + 2 + 24);
        assert_int_equal(le32_load(table + 36), LAYOUT_LAPIC);
        assert_int_equal(sum_of(table, size - 16), 0);
        assert_int_equal(size, 16 + 44 + 20 * cpus + 8 + 8 + 24 * 8);
    }
    assert_int_equal(hardware_mptable(bytes, 100, LAYOUT_MPTABLE, 1, &err), 0);
}

static void the_command_line_has_its_bound(void **state)
{
    char text[64] = "quiet";
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(hardware_cmdline(text, sizeof(text), 1, &err), 0);
    assert_string_equal(text, "quiet virtio_mmio.device=4K@0xd0000000:16");
    assert_int_equal(hardware_cmdline(text, sizeof(text), 1, &err), -1);
}

static void ram_and_devices_do_not_meet(void **state)
{
    struct guest_mem_region regions[GUEST_MEM_REGIONS_MAX];

    (void)state;
    for (uint64_t size = 64 * MIB; size <= 8 * GIB; size *= 2) {
        uint32_t count = arch_memory_regions(size, regions);
        uint64_t sum = 0;

        for (uint32_t i = 0; i < count; i++) {
            sum += regions[i].size_bytes;
            for (uint32_t device = 0; device < ARCH_DEVICES_MAX; device++)
                assert_false(range_overlaps(regions[i].gpa, regions[i].size_bytes,
                    arch_device_gpa(device).value, ARCH_DEVICE_BYTES));
            assert_false(
                range_overlaps(regions[i].gpa, regions[i].size_bytes, LAYOUT_IOAPIC, 0x1000));
            assert_false(
                range_overlaps(regions[i].gpa, regions[i].size_bytes, LAYOUT_LAPIC, 0x1000));
        }
        assert_int_equal(sum, size);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_tree_describes_every_device),
    cmocka_unit_test(no_device_no_node),
    cmocka_unit_test(a_tree_that_does_not_fit_is_an_error),
    cmocka_unit_test(the_mp_table_adds_up),
    cmocka_unit_test(the_command_line_has_its_bound),
    cmocka_unit_test(ram_and_devices_do_not_meet),
};

UNIT_MAIN(tests)
