/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=pread */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "ipc/ipc.h"
#include "monitor/arch/x86_64/kernel_image.h"

enum { FILE_BYTES = 8192, CODE_OFFSET = 4096, CODE_BYTES = 64 };

static struct guest_mem mem = GUEST_MEM_INIT;

static int reads_until_error = -1; /* -1: none comes */

ssize_t __real_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset);

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
{
    if (reads_until_error == 0) {
        errno = EIO;
        return -1;
    }
    if (reads_until_error > 0)
        reads_until_error--;
    return __real_pread(fd, buffer, size, offset);
}

/* A small ELF kernel: one segment at 1 MiB, entry at its start. */
struct file {
    uint8_t bytes[FILE_BYTES];
    size_t size;
    Elf64_Ehdr header;
    Elf64_Phdr segment;
};

static struct file elf_file(void)
{
    struct file file = {.size = FILE_BYTES};

    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_machine = EM_X86_64;
    file.header.e_type = ET_EXEC;
    file.header.e_phentsize = sizeof(Elf64_Phdr);
    file.header.e_phnum = 1;
    file.header.e_phoff = sizeof(Elf64_Ehdr);
    file.header.e_entry = MIB;
    file.segment = (Elf64_Phdr){.p_type = PT_LOAD,
        .p_offset = CODE_OFFSET,
        .p_paddr = MIB,
        .p_filesz = CODE_BYTES,
        .p_memsz = 4096};
    memset(file.bytes + CODE_OFFSET, 0x90, CODE_BYTES);
    return file;
}

static int load(struct file *file, struct kernel_image *image, struct err *err)
{
    AUTO_FD int fd = memfd_create("kernel", MFD_CLOEXEC);

    memcpy(file->bytes, &file->header, sizeof(file->header));
    memcpy(file->bytes + sizeof(file->header), &file->segment, sizeof(file->segment));
    assert_int_equal(fd_write_all(fd, file->bytes, file->size), 0);
    return kernel_image_load(fd, &mem, image, err);
}

static void refused(struct file *file, const char *why)
{
    struct kernel_image image;
    struct err err = ERR_INIT;

    assert_int_equal(load(file, &image, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void a_right_elf_is_loaded(void **state)
{
    struct file file = elf_file();
    struct kernel_image image;
    struct err err = ERR_INIT;
    const uint8_t *code;

    (void)state;
    assert_int_equal(load(&file, &image, &err), 0);
    assert_int_equal(image.entry, MIB);
    assert_int_equal(image.end, MIB + 4096);
    assert_int_equal(image.setup_header_bytes, 0);
    code = guest_mem_range(&mem, gpa(MIB + CODE_BYTES - 1), 2);
    assert_non_null(code);
    assert_int_equal(code[0], 0x90);
    assert_int_equal(code[1], 0);
}

static void a_segment_ends_at_the_end_of_ram_or_is_refused(void **state)
{
    struct file file = elf_file();
    struct kernel_image image;
    struct err err = ERR_INIT;

    (void)state;
    file.segment.p_memsz = 15 * MIB;
    assert_int_equal(load(&file, &image, &err), 0);
    file.segment.p_memsz = 15 * MIB + 1;
    refused(&file, "raise [machine] memory");
    file.segment.p_memsz = UINT64_MAX;
    refused(&file, "impossible addresses");
    file.segment.p_memsz = UINT64_MAX - MIB;
    refused(&file, "raise [machine] memory");
}

static void low_memory_is_ours(void **state)
{
    struct file file = elf_file();

    (void)state;
    file.segment.p_paddr = MIB - 1;
    refused(&file, "impossible addresses");
    file.segment.p_paddr = 0x7000;
    refused(&file, "impossible addresses");
}

static void what_is_cut_is_named(void **state)
{
    struct file file = elf_file();

    (void)state;
    file.size = CODE_OFFSET + CODE_BYTES - 1;
    refused(&file, "truncated");
    file.size = 1023;
    refused(&file, "truncated");
    file.size = 0;
    refused(&file, "truncated");
    file = elf_file();
    file.header.e_phoff = FILE_BYTES - 1;
    refused(&file, "program headers are cut");
    file.header.e_phoff = UINT64_MAX;
    refused(&file, "impossible program header table");
    file = elf_file();
    file.segment.p_offset = UINT64_MAX - 1;
    refused(&file, "impossible addresses");
}

static void other_files_are_refused(void **state)
{
    struct file file = elf_file();

    (void)state;
    file.header.e_machine = EM_AARCH64;
    refused(&file, "not an x86_64 kernel");
    file = elf_file();
    file.header.e_type = ET_DYN;
    refused(&file, "not an x86_64 kernel");
    file = elf_file();
    file.header.e_ident[0] = 0;
    refused(&file, "neither an ELF vmlinux nor a bzImage");
    file = elf_file();
    file.header.e_phnum = 65;
    refused(&file, "impossible program header table");
    file = elf_file();
    file.header.e_phnum = 0;
    refused(&file, "impossible program header table");
}

static void the_entry_lies_inside(void **state)
{
    struct file file = elf_file();

    (void)state;
    file.header.e_entry = MIB - 1;
    refused(&file, "entry point");
    file.header.e_entry = MIB + 4096;
    refused(&file, "entry point");
    file.header.e_entry = UINT64_MAX;
    refused(&file, "entry point");
}

/* A bzImage of one setup sector; the fields are where boot.rst has them. */
static struct file bzimage_file(void)
{
    struct file file = {.size = FILE_BYTES};

    file.bytes[0x1f1] = 1;
    file.bytes[0x201] = 0x66;
    memcpy(file.bytes + 0x202, "HdrS", 4);
    le16_store(file.bytes + 0x206, 0x020f);
    le16_store(file.bytes + 0x236, 1);
    le64_store(file.bytes + 0x258, 2 * MIB);
    le32_store(file.bytes + 0x260, (uint32_t)MIB);
    return file;
}

static int bzimage_load_file(const struct file *file, struct kernel_image *image, struct err *err)
{
    AUTO_FD int fd = memfd_create("kernel", MFD_CLOEXEC);

    assert_int_equal(fd_write_all(fd, file->bytes, file->size), 0);
    return kernel_image_load(fd, &mem, image, err);
}

static void bzimages_are_checked(void **state)
{
    struct file file = bzimage_file();
    struct kernel_image image;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(bzimage_load_file(&file, &image, &err), 0);
    assert_int_equal(image.entry, 2 * MIB + 0x200);
    assert_int_equal(image.end, 3 * MIB);
    assert_int_equal(image.setup_header_bytes, 0x202 + 0x66 - 0x1f1);
    file.bytes[0x201] = 0xff; /* a header longer than its place in the zero page */
    assert_int_equal(bzimage_load_file(&file, &image, &err), -1);
    file = bzimage_file();
    le16_store(file.bytes + 0x236, 0);
    assert_int_equal(bzimage_load_file(&file, &image, &err), -1);
    file = bzimage_file();
    le32_store(file.bytes + 0x260, 1); /* init_size smaller than the file */
    assert_int_equal(bzimage_load_file(&file, &image, &err), -1);
    file = bzimage_file();
    le64_store(file.bytes + 0x258, UINT64_MAX - 4);
    assert_int_equal(bzimage_load_file(&file, &image, &err), -1);
    file = bzimage_file();
    file.bytes[0x1f1] = 255; /* setup sectors past the end of the file */
    assert_int_equal(bzimage_load_file(&file, &image, &err), -1);
}

static int map_ram(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    return guest_mem_map(&mem, 16 * MIB, HUGEPAGES_NO, &err);
}

/* With an errno, which tells the host's failure from a kernel that is no good. */
static void an_error_of_the_host_is_not_the_kernels(void **state)
{
    (void)state;
    /* The start of the file, then a segment, or program headers that do not lie at the start. */
    for (int i = 0; i < 3; i++) {
        struct file file = elf_file();
        struct kernel_image image;
        struct err err = ERR_INIT;

        if (i == 2)
            file.header.e_phoff = FILE_BYTES - sizeof(Elf64_Phdr);
        reads_until_error = i > 0;
        assert_int_equal(load(&file, &image, &err), -1);
        reads_until_error = -1;
        assert_int_equal(err.errnum, EIO);
        assert_non_null(strstr(err.text, "cannot read the kernel file: "));
        file.size = 100;
        err = (struct err)ERR_INIT;
        assert_int_equal(load(&file, &image, &err), -1);
        assert_int_equal(err.errnum, 0);
    }
}

static int unmap_ram(void **state)
{
    (void)state;
    guest_mem_unmap(&mem);
    return 0;
}

#define with_ram(test) cmocka_unit_test_setup_teardown(test, map_ram, unmap_ram)

static const struct CMUnitTest tests[] = {
    with_ram(a_right_elf_is_loaded),
    with_ram(a_segment_ends_at_the_end_of_ram_or_is_refused),
    with_ram(low_memory_is_ours),
    with_ram(what_is_cut_is_named),
    with_ram(other_files_are_refused),
    with_ram(the_entry_lies_inside),
    with_ram(bzimages_are_checked),
    with_ram(an_error_of_the_host_is_not_the_kernels),
};

UNIT_MAIN(tests)
