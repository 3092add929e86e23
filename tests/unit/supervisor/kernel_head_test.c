/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_head_test.c: a kernel file that the monitor could not boot is told from its headers, each
 * fault by its own words; what is just right passes.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "supervisor/arch/arch.h"
#include "tests/unit/unit.h"

enum { FILE_BYTES = 4096, SEGMENT_OFFSET = 1024, SEGMENT_BYTES = FILE_BYTES - SEGMENT_OFFSET };

static struct {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
} elf;
static uint8_t bzimage[FILE_BYTES];
static struct err err;
static uint64_t ram_bytes;

static int set_up(void **state)
{
    (void)state;
    memset(&elf, 0, sizeof(elf));
    memcpy(elf.header.e_ident, ELFMAG "\002\001\001", 7);
    elf.header.e_type = ET_EXEC;
    elf.header.e_machine = EM_X86_64;
    elf.header.e_phoff = sizeof(elf.header);
    elf.header.e_phentsize = sizeof(elf.segments[0]);
    elf.header.e_phnum = 2;
    elf.header.e_entry = 0x1000000;
    elf.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = UINT64_MAX};
    elf.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
        .p_offset = SEGMENT_OFFSET,
        .p_filesz = SEGMENT_BYTES,
        .p_memsz = SEGMENT_BYTES + 1,
        .p_paddr = 0x1000000};
    memset(bzimage, 0, sizeof(bzimage));
    bzimage[0x1f1] = 1; /* and the first: code from byte 1024 on */
    le32_store(bzimage + 0x1f4, SEGMENT_BYTES / 16);
    le16_store(bzimage + 0x1fe, 0xaa55);
    memcpy(bzimage + 0x202, "HdrS", 4);
    le16_store(bzimage + 0x206, 0x020c);
    le16_store(bzimage + 0x236, 1);
    le32_store(bzimage + 0x260, SEGMENT_BYTES);
    return 0;
}

/* A file that begins with the HEAD_SIZE bytes of HEAD and is SIZE long. */
static int check(const void *head, size_t head_size, uint64_t size)
{
    AUTO_FD int fd = memfd_create("kernel", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fd_pwrite_all(fd, head, head_size, 0), 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    err = (struct err)ERR_INIT;
    return host_check_guest_kernel(fd, size, &ram_bytes, &err);
}

static void refused(const void *head, size_t head_size, uint64_t size, const char *words)
{
    assert_int_equal(check(head, head_size, size), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void an_elf_that_ends_with_its_last_segment_passes(void **state)
{
    (void)state;
    assert_int_equal(check(&elf, sizeof(elf), FILE_BYTES), 0);
    refused(&elf, sizeof(elf), FILE_BYTES - 1, "truncated: a segment of 3072 bytes at 1024");
    elf.segments[1].p_offset = UINT64_MAX - 1;
    refused(&elf, sizeof(elf), FILE_BYTES, "truncated: a segment");
}

static void an_elf_needs_its_program_headers(void **state)
{
    (void)state;
    elf.header.e_phoff = FILE_BYTES - sizeof(elf.segments) + 1;
    refused(&elf, sizeof(elf), FILE_BYTES, "truncated: its program headers");
    elf.header.e_phoff = UINT64_MAX;
    refused(&elf, sizeof(elf), FILE_BYTES, "truncated: its program headers");
    elf.header.e_phoff = sizeof(elf.header);
    elf.header.e_phnum = 65;
    refused(&elf, sizeof(elf), FILE_BYTES, "damaged: 65 program headers");
    elf.header.e_phnum = 0;
    refused(&elf, sizeof(elf), FILE_BYTES, "damaged: 0 program headers");
}

static void the_entry_point_lies_in_a_segment(void **state)
{
    (void)state;
    elf.header.e_entry = 0x1000000 + SEGMENT_BYTES;
    assert_int_equal(check(&elf, sizeof(elf), FILE_BYTES), 0);
    elf.header.e_entry++;
    refused(&elf, sizeof(elf), FILE_BYTES, "entry point");
    elf.header.e_entry = 0xffffff;
    refused(&elf, sizeof(elf), FILE_BYTES, "entry point");
}

static void an_elf_of_another_kind_is_refused(void **state)
{
    (void)state;
    elf.header.e_type = ET_REL;
    refused(&elf, sizeof(elf), FILE_BYTES, "cannot be loaded as a kernel (type 1)");
    elf.header.e_type = ET_EXEC;
    elf.header.e_machine = EM_AARCH64;
    refused(&elf, sizeof(elf), FILE_BYTES, "another machine");
    elf.header.e_machine = EM_X86_64;
    elf.header.e_ident[EI_CLASS] = ELFCLASS32;
    refused(&elf, sizeof(elf), FILE_BYTES, "another machine");
}

static void a_bzimage_is_as_long_as_it_says(void **state)
{
    (void)state;
    assert_int_equal(check(bzimage, sizeof(bzimage), FILE_BYTES), 0);
    assert_int_equal(check(bzimage, sizeof(bzimage), FILE_BYTES + 1), 0); /* a signature */
    refused(bzimage, sizeof(bzimage), FILE_BYTES - 1, "truncated: a bzImage of 4096 bytes");
    bzimage[0x1f1] = 0; /* stands for 4 */
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "truncated: a bzImage of 5632 bytes");
    le32_store(bzimage + 0x1f4, UINT32_MAX);
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "damaged");
    le32_store(bzimage + 0x1f4, 0);
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "damaged");
}

static void a_bzimage_has_a_64_bit_entry(void **state)
{
    (void)state;
    le16_store(bzimage + 0x206, 0x020b);
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "boot protocol 2.11");
    le16_store(bzimage + 0x206, 0x020c);
    le16_store(bzimage + 0x236, 2);
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "64-bit entry");
}

static void it_says_up_to_where_it_is_loaded(void **state)
{
    (void)state;
    elf.segments[0] = elf.segments[1];
    elf.segments[0].p_paddr = 0x3000000; /* the last in RAM need not be the last in the table */
    assert_int_equal(check(&elf, sizeof(elf), FILE_BYTES), 0);
    assert_int_equal(ram_bytes, 0x3000000 + SEGMENT_BYTES + 1);
    elf.segments[0].p_paddr = UINT64_MAX - SEGMENT_BYTES - 1;
    assert_int_equal(check(&elf, sizeof(elf), FILE_BYTES), 0);
    assert_int_equal(ram_bytes, UINT64_MAX);
    elf.segments[0].p_paddr++;
    refused(&elf, sizeof(elf), FILE_BYTES, "damaged: a segment of 3073 bytes");
    le64_store(bzimage + 0x258, 0x1000000);
    assert_int_equal(check(bzimage, sizeof(bzimage), FILE_BYTES), 0);
    assert_int_equal(ram_bytes, 0x1000000 + SEGMENT_BYTES);
    le64_store(bzimage + 0x258, UINT64_MAX);
    refused(bzimage, sizeof(bzimage), FILE_BYTES, "damaged: it wants to be loaded");
}

static void what_is_no_kernel_is_told_what_would_be(void **state)
{
    (void)state;
    refused("\037\213\010", 3, FILE_BYTES, "gunzip");
    refused("#!/bin/sh\n", 10, FILE_BYTES, "ELF vmlinux or a bzImage");
    refused("", 0, FILE_BYTES, "ELF vmlinux or a bzImage");
    refused(&elf, sizeof(elf), 1023, "only 1023 bytes");
    refused("", 0, 0, "only 0 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_elf_that_ends_with_its_last_segment_passes, set_up),
        cmocka_unit_test_setup(an_elf_needs_its_program_headers, set_up),
        cmocka_unit_test_setup(the_entry_point_lies_in_a_segment, set_up),
        cmocka_unit_test_setup(an_elf_of_another_kind_is_refused, set_up),
        cmocka_unit_test_setup(a_bzimage_is_as_long_as_it_says, set_up),
        cmocka_unit_test_setup(a_bzimage_has_a_64_bit_entry, set_up),
        cmocka_unit_test_setup(it_says_up_to_where_it_is_loaded, set_up),
        cmocka_unit_test_setup(what_is_no_kernel_is_told_what_would_be, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
