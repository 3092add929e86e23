/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.c: puts a guest into RAM as the 64-bit boot protocol wants it (Documentation/x86/boot.rst,
 * "64-bit boot protocol"; zero-page.rst). Runs in the monitor before the first instruction of the
 * guest. The kernel file is the user's, everything else is ours.
 */
#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "monitor/arch/arch.h"
#include "monitor/arch/x86_64/hardware.h"
#include "monitor/arch/x86_64/kernel_image.h"
#include "monitor/arch/x86_64/layout.h"

/* Offsets in the zero page. */
enum {
    ZERO_PAGE_BYTES = 4096,
    ZP_E820_COUNT = 0x1e8,
    ZP_BOOT_FLAG = 0x1fe,
    ZP_HEADER = 0x202,
    ZP_VERSION = 0x206,
    ZP_LOADER_TYPE = 0x210,
    ZP_RAMDISK_IMAGE = 0x218,
    ZP_RAMDISK_SIZE = 0x21c,
    ZP_CMDLINE = 0x228,
    ZP_INITRD_ADDR_MAX = 0x22c,
    ZP_KERNEL_ALIGNMENT = 0x230,
    ZP_CMDLINE_SIZE = 0x238,
    ZP_SETUP_DATA = 0x250,
    ZP_E820 = 0x2d0,
    E820_ENTRY_BYTES = 20,
    E820_RAM = 1,
    LOADER_TYPE_UNDEFINED = 0xff,
    BOOT_PROTOCOL = 0x020f,
};

/* struct setup_data: u64 next, u32 type, u32 length, data. */
enum {
    SETUP_DATA_BYTES = 16,
    SETUP_DTB = 2,
    SETUP_RNG_SEED = 9,
    SEED_BYTES = 32,
};

enum {
    PAGE_PRESENT_WRITE = 0x03,
    PAGE_LARGE = 0x80,
    PAGE_ENTRIES = 512,
    CODE64_DESCRIPTOR_HIGH = 0x00af9b00, /* 64-bit, present, code, base 0 */
    DATA_DESCRIPTOR_HIGH = 0x00cf9300,
};

/* Our structures lie in low RAM, which is always there: a failure is a bug of ours. */
static uint8_t *low_memory(const struct guest_mem *mem, uint64_t start, uint64_t length)
{
    uint8_t *host = guest_mem_range(mem, gpa(start), length);

    must(host != NULL);
    return host;
}

static void page_tables_write(const struct guest_mem *mem)
{
    uint8_t *pml4 = low_memory(mem, LAYOUT_PML4, 4096);
    uint8_t *pdpt = low_memory(mem, LAYOUT_PDPT, 4096);
    uint8_t *pd = low_memory(mem, LAYOUT_PD, 4096);

    le64_store(pml4, LAYOUT_PDPT | PAGE_PRESENT_WRITE);
    le64_store(pdpt, LAYOUT_PD | PAGE_PRESENT_WRITE);
    for (uint64_t i = 0; i < PAGE_ENTRIES; i++)
        le64_store(pd + 8 * i, i * 2 * MIB | PAGE_LARGE | PAGE_PRESENT_WRITE);
}

/* Descriptors 0x10 (code) and 0x18 (data), as the protocol names them. */
static void gdt_write(const struct guest_mem *mem)
{
    uint8_t *gdt = low_memory(mem, LAYOUT_GDT, 4 * 8);

    le32_store(gdt + 0x10, 0xffff);
    le32_store(gdt + 0x14, CODE64_DESCRIPTOR_HIGH);
    le32_store(gdt + 0x18, 0xffff);
    le32_store(gdt + 0x1c, DATA_DESCRIPTOR_HIGH);
}

static void e820_add(uint8_t *zero_page, uint64_t start, uint64_t length)
{
    uint8_t *entry = zero_page + ZP_E820 + E820_ENTRY_BYTES * zero_page[ZP_E820_COUNT];

    le64_store(entry, start);
    le64_store(entry + 8, length);
    le32_store(entry + 16, E820_RAM);
    zero_page[ZP_E820_COUNT]++;
}

static void e820_write(const struct guest_mem *mem, uint8_t *zero_page)
{
    e820_add(zero_page, 0, LAYOUT_LOW_END);
    e820_add(zero_page, LAYOUT_KERNEL, mem->regions[0].size_bytes - LAYOUT_KERNEL);
    if (mem->region_count > 1)
        e820_add(zero_page, mem->regions[1].gpa, mem->regions[1].size_bytes);
}

static void setup_data_write(uint8_t *at, uint64_t next, uint32_t type, uint32_t length)
{
    le64_store(at, next);
    le32_store(at + 8, type);
    le32_store(at + 12, length);
}

/* Fresh randomness for every boot, so that the guest's getrandom() never waits. */
static int seed_write(const struct guest_mem *mem, struct err *err)
{
    uint8_t *at = low_memory(mem, LAYOUT_SEED, SETUP_DATA_BYTES + SEED_BYTES);

    if (getrandom(at + SETUP_DATA_BYTES, SEED_BYTES, 0) != SEED_BYTES)
        return err_sys(err, "cannot get a random seed for the guest");
    setup_data_write(at, 0, SETUP_RNG_SEED, SEED_BYTES);
    return 0;
}

/* Device tree or MP table. Returns the address of the first setup_data entry, 0 on failure. */
static uint64_t hardware_write(const struct arch_boot *boot, char *cmdline, struct err *err)
{
    uint32_t cpu_count = boot->setup->cpu_count;
    uint8_t *at;
    size_t length;

    if (boot->setup->hardware == HARDWARE_MPTABLE) {
        at = low_memory(boot->mem, LAYOUT_MPTABLE, 1024);
        if (hardware_cmdline(cmdline, LAYOUT_CMDLINE_BYTES, boot->device_count, err) < 0 ||
            hardware_mptable(at, 1024, LAYOUT_MPTABLE, cpu_count, err) == 0)
            return 0;
        return LAYOUT_SEED;
    }
    at = low_memory(boot->mem, LAYOUT_DTB, LAYOUT_DTB_BYTES);
    length = hardware_devicetree(at + SETUP_DATA_BYTES, LAYOUT_DTB_BYTES - SETUP_DATA_BYTES,
        cpu_count, boot->device_count, err);
    if (length == 0)
        return 0;
    setup_data_write(at, LAYOUT_SEED, SETUP_DTB, (uint32_t)length);
    return LAYOUT_DTB;
}

/* The initrd goes right behind the kernel: next to it in RAM it shares its huge pages. */
static int initrd_load(const struct arch_boot *boot, const struct kernel_image *image,
    uint8_t *zero_page, struct err *err)
{
    uint64_t start = align_up(image->end, 4096);
    uint64_t length = boot->setup->initrd_bytes;
    uint8_t *host;
    ssize_t count;

    if (length == 0)
        return err_set(err, "the initramfs file is empty");
    host = start < 4 * GIB ? guest_mem_range(boot->mem, gpa(start), length) : NULL;
    if (!host)
        return err_set(err, "the initramfs does not fit behind the kernel: raise [machine] memory");
    count = fd_pread_all(boot->initrd_fd, host, length, 0);
    if (count < 0)
        return err_sys(err, "cannot read the initramfs file");
    if (count != (ssize_t)length)
        return err_set(err, "the initramfs file cannot be read to its end");
    le32_store(zero_page + ZP_RAMDISK_IMAGE, (uint32_t)start);
    le32_store(zero_page + ZP_RAMDISK_SIZE, (uint32_t)length);
    return 0;
}

/* The header of a bzImage is kept (the kernel reads it again); for an ELF the few fields that
 * matter. */
static void header_write(uint8_t *zero_page, const struct kernel_image *image)
{
    if (image->setup_header_bytes) {
        memcpy(zero_page + SETUP_HEADER_OFFSET, image->setup_header, image->setup_header_bytes);
    } else {
        le16_store(zero_page + ZP_BOOT_FLAG, 0xaa55);
        memcpy(zero_page + ZP_HEADER, "HdrS", 4);
        le16_store(zero_page + ZP_VERSION, BOOT_PROTOCOL);
        le32_store(zero_page + ZP_INITRD_ADDR_MAX, 0x7fffffff);
        le32_store(zero_page + ZP_KERNEL_ALIGNMENT, (uint32_t)(2 * MIB));
    }
    zero_page[ZP_LOADER_TYPE] = LOADER_TYPE_UNDEFINED;
}

int arch_boot_load(const struct arch_boot *boot, struct arch_entry *entry, struct err *err)
{
    const struct guest_mem *mem = boot->mem;
    uint8_t *zero_page = low_memory(mem, LAYOUT_ZERO_PAGE, ZERO_PAGE_BYTES);
    char *cmdline = (char *)low_memory(mem, LAYOUT_CMDLINE, LAYOUT_CMDLINE_BYTES);
    struct kernel_image image;
    uint64_t setup_data;

    static_assert(IPC_TEXT_BYTES < LAYOUT_CMDLINE_BYTES, "the command line has its own room");
    if (kernel_image_load(boot->kernel_fd, mem, &image, err) < 0)
        return -1;
    header_write(zero_page, &image);
    if (initrd_load(boot, &image, zero_page, err) < 0)
        return -1;
    memcpy(cmdline, boot->setup->cmdline, strlen(boot->setup->cmdline) + 1);
    setup_data = hardware_write(boot, cmdline, err);
    if (setup_data == 0 || seed_write(mem, err) < 0)
        return -1;
    le32_store(zero_page + ZP_CMDLINE, (uint32_t)LAYOUT_CMDLINE);
    le32_store(zero_page + ZP_CMDLINE_SIZE, (uint32_t)LAYOUT_CMDLINE_BYTES - 1);
    le64_store(zero_page + ZP_SETUP_DATA, setup_data);
    e820_write(mem, zero_page);
    page_tables_write(mem);
    gdt_write(mem);
    entry->entry = image.entry;
    entry->boot_data = LAYOUT_ZERO_PAGE;
    return 0;
}

/* inc %rbx; jmp back. */
static const uint8_t probe_code[] = {0x48, 0xff, 0xc3, 0xeb, 0xfb};

int arch_probe_load(const struct guest_mem *mem, struct arch_entry *entry, struct err *err)
{
    page_tables_write(mem);
    gdt_write(mem);
    entry->entry = LAYOUT_KERNEL;
    entry->boot_data = 0;
    if (!guest_mem_write(mem, gpa(LAYOUT_KERNEL), probe_code, sizeof(probe_code)))
        return err_set(err, "the probe does not fit into its RAM");
    return 0;
}
