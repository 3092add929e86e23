/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.c: see hardware.h. Runs in the monitor, before the guest does; nothing is hostile here.
 */
#include "monitor/arch/x86_64/hardware.h"

#include <assert.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "monitor/arch/arch.h"
#include "monitor/arch/x86_64/layout.h"

enum {
    PHANDLE_IOAPIC = 1,
    DT_IRQ_EDGE_RISING = 3, /* arch/x86/kernel/devicetree.c: types of an IOAPIC interrupt */
    MP_FLOATING_BYTES = 16,
    MP_HEADER_BYTES = 44,
    IOAPIC_PINS = 24,
    APIC_VERSION = 0x14,
};

/* Writing goes on after the first failure, which is kept: one look at the end is enough. */
struct tree {
    void *fdt;
    int failed; /* 0 or a negative libfdt error */
};

static void tree_note(struct tree *tree, int result)
{
    if (tree->failed == 0 && result < 0)
        tree->failed = result;
}

static void tree_begin(struct tree *tree, const char *name, uint64_t address)
{
    char full[64];

    if (address)
        snprintf(full, sizeof(full), "%s@%llx", name, (unsigned long long)address);
    else
        snprintf(full, sizeof(full), "%s", name);
    tree_note(tree, fdt_begin_node(tree->fdt, full));
}

static void tree_end(struct tree *tree)
{
    tree_note(tree, fdt_end_node(tree->fdt));
}

static void tree_text(struct tree *tree, const char *name, const char *text)
{
    tree_note(tree, fdt_property(tree->fdt, name, text, (int)strlen(text) + 1));
}

static void tree_number(struct tree *tree, const char *name, uint32_t value)
{
    tree_note(tree, fdt_property_u32(tree->fdt, name, value));
}

static void tree_flag(struct tree *tree, const char *name)
{
    tree_note(tree, fdt_property(tree->fdt, name, NULL, 0));
}

static void tree_pair(struct tree *tree, const char *name, uint32_t first, uint32_t second)
{
    fdt32_t cells[2] = {cpu_to_fdt32(first), cpu_to_fdt32(second)};

    tree_note(tree, fdt_property(tree->fdt, name, cells, sizeof(cells)));
}

static void tree_cells(struct tree *tree, uint32_t address_cells, uint32_t size_cells)
{
    tree_number(tree, "#address-cells", address_cells);
    tree_number(tree, "#size-cells", size_cells);
}

static void tree_cpus(struct tree *tree, uint32_t cpu_count)
{
    tree_begin(tree, "cpus", 0);
    tree_cells(tree, 1, 0);
    for (uint32_t i = 0; i < cpu_count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "cpu@%x", i);
        tree_begin(tree, name, 0);
        tree_text(tree, "device_type", "cpu");
        tree_text(tree, "compatible", "x86,cpu");
        tree_number(tree, "reg", i); /* the APIC ID */
        tree_end(tree);
    }
    tree_end(tree);
}

/* "intel,ce4100" is the only binding for these that the kernel knows (its name is no matter). */
static void tree_interrupt_controllers(struct tree *tree)
{
    tree_begin(tree, "interrupt-controller", LAYOUT_LAPIC);
    tree_text(tree, "compatible", "intel,ce4100-lapic");
    tree_pair(tree, "reg", (uint32_t)LAYOUT_LAPIC, 0x1000);
    tree_end(tree);
    tree_begin(tree, "interrupt-controller", LAYOUT_IOAPIC);
    tree_text(tree, "compatible", "intel,ce4100-ioapic");
    tree_pair(tree, "reg", (uint32_t)LAYOUT_IOAPIC, 0x1000);
    tree_flag(tree, "interrupt-controller");
    tree_number(tree, "#interrupt-cells", 2);
    tree_number(tree, "phandle", PHANDLE_IOAPIC);
    tree_end(tree);
}

size_t hardware_devicetree(
    uint8_t *bytes, size_t size, uint32_t cpu_count, uint32_t device_count, struct err *err)
{
    struct tree tree = {.fdt = bytes};

    tree_note(&tree, fdt_create(bytes, (int)size));
    tree_note(&tree, fdt_finish_reservemap(bytes));
    tree_begin(&tree, "", 0);
    tree_cells(&tree, 1, 1);
    tree_text(&tree, "compatible", "vmrun,machine");
    tree_cpus(&tree, cpu_count);
    tree_begin(&tree, "soc", 0);
    tree_text(&tree, "compatible", "simple-bus");
    tree_cells(&tree, 1, 1);
    tree_flag(&tree, "ranges");
    tree_number(&tree, "interrupt-parent", PHANDLE_IOAPIC);
    tree_interrupt_controllers(&tree);
    for (uint32_t i = 0; i < device_count; i++) {
        uint32_t address = (uint32_t)arch_device_gpa(i).value;

        tree_begin(&tree, "virtio", address);
        tree_text(&tree, "compatible", "virtio,mmio");
        tree_pair(&tree, "reg", address, ARCH_DEVICE_BYTES);
        tree_pair(&tree, "interrupts", arch_device_gsi(i), DT_IRQ_EDGE_RISING);
        tree_end(&tree);
    }
    tree_end(&tree);
    tree_end(&tree);
    tree_note(&tree, fdt_finish(bytes));
    if (tree.failed < 0) {
        err_set(err, "cannot build the device tree: %s", fdt_strerror(tree.failed));
        return 0;
    }
    return fdt_totalsize(bytes);
}

static uint8_t mp_checksum(const uint8_t *bytes, size_t size)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + bytes[i]);
    return (uint8_t)(0 - sum);
}

/* §4.3.1 processors, §4.3.2 one ISA bus, §4.3.3 one IOAPIC, §4.3.4 interrupts, pin = ISA IRQ. */
static uint16_t mp_entries(struct writer *writer, uint32_t cpu_count)
{
    for (uint32_t i = 0; i < cpu_count; i++) {
        writer_u8(writer, 0);
        writer_u8(writer, (uint8_t)i);
        writer_u8(writer, APIC_VERSION);
        writer_u8(writer, i == 0 ? 3 : 1); /* enabled, boot processor */
        writer_u32(writer, 0x600);
        writer_u32(writer, 0x201);
        writer_u64(writer, 0);
    }
    writer_u8(writer, 1);
    writer_u8(writer, 0);
    writer_bytes(writer, "ISA   ", 6);
    writer_u8(writer, 2);
    writer_u8(writer, (uint8_t)cpu_count); /* the IOAPIC's ID follows the processors' */
    writer_u8(writer, APIC_VERSION);
    writer_u8(writer, 1);
    writer_u32(writer, (uint32_t)LAYOUT_IOAPIC);
    for (uint8_t pin = 0; pin < IOAPIC_PINS; pin++) {
        writer_u8(writer, 3);
        writer_u8(writer, 0);
        writer_u16(writer, 0);
        writer_u8(writer, 0);
        writer_u8(writer, pin);
        writer_u8(writer, (uint8_t)cpu_count);
        writer_u8(writer, pin);
    }
    return (uint16_t)(cpu_count + 2 + IOAPIC_PINS);
}

size_t hardware_mptable(
    uint8_t *bytes, size_t size, uint64_t gpa_value, uint32_t cpu_count, struct err *err)
{
    struct writer writer = writer_make(bytes, size);
    uint8_t *table = bytes + MP_FLOATING_BYTES;
    uint16_t entries;

    /* §4.1 floating pointer. */
    writer_bytes(&writer, "_MP_", 4);
    writer_u32(&writer, (uint32_t)(gpa_value + MP_FLOATING_BYTES));
    writer_bytes(&writer, "\x01\x04\0\0\0\0\0\0", 8);
    /* §4.2 header; length, checksum and count are filled in below. */
    writer_bytes(&writer, "PCMP\0\0\x04\0VMRUN   MICROVM     \0\0\0\0\0\0\0\0", 36);
    writer_u32(&writer, (uint32_t)LAYOUT_LAPIC);
    writer_u32(&writer, 0);
    entries = mp_entries(&writer, cpu_count);
    if (writer.failed) {
        err_set(err, "the MP table does not fit");
        return 0;
    }
    bytes[10] = mp_checksum(bytes, MP_FLOATING_BYTES);
    le16_store(table + 4, (uint16_t)(writer.used - MP_FLOATING_BYTES));
    le16_store(table + 34, entries);
    table[7] = mp_checksum(table, writer.used - MP_FLOATING_BYTES);
    static_assert(MP_HEADER_BYTES == 36 + 8, "size of an MP configuration table header");
    return writer.used;
}

int hardware_cmdline(char *text, size_t size, uint32_t device_count, struct err *err)
{
    for (uint32_t i = 0; i < device_count; i++) {
        size_t used = strlen(text);
        int length = snprintf(text + used, size - used, " virtio_mmio.device=%dK@0x%llx:%u",
            ARCH_DEVICE_BYTES / 1024, (unsigned long long)arch_device_gpa(i).value,
            arch_device_gsi(i));

        if (length < 0 || (size_t)length >= size - used)
            return err_set(err, "the kernel command line is too long");
    }
    return 0;
}
