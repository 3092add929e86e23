/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_head.c of x86_64: see arch.h. The file is the user's. Only headers are read: the monitor
 * reads the rest, and checks all of it again against the RAM that it has.
 */
#include <elf.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "supervisor/arch/arch.h"

enum {
    HEAD_BYTES = 1024,
    PROGRAM_HEADERS_MAX = 64,
    SECTOR_BYTES = 512,
    BZIMAGE_VERSION_MIN = 0x020c, /* the first with xloadflags */
    XLF_KERNEL_64 = 1 << 0,
};

#define GUEST_KERNELS "it must be an ELF vmlinux or a bzImage for x86_64"
#define GET_IT_AGAIN  "copy or build it again"

static int check_segments(const Elf64_Ehdr *header, const Elf64_Phdr *segments, uint64_t size,
    uint64_t *ram_bytes, struct err *err)
{
    bool has_entry = false;

    *ram_bytes = 0;
    for (size_t i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        uint64_t end;

        if (segment->p_type != PT_LOAD)
            continue;
        if (!u64_add(segment->p_paddr, segment->p_memsz, &end))
            return err_set(err, "its ELF header is damaged: a segment of %llu bytes at 0x%llx",
                (unsigned long long)segment->p_memsz, (unsigned long long)segment->p_paddr);
        if (end > *ram_bytes)
            *ram_bytes = end;
        if (!range_within(segment->p_offset, segment->p_filesz, size))
            return err_set(err,
                "it is truncated: a segment of %llu bytes at %llu lies beyond its end, "
                "%llu; " GET_IT_AGAIN,
                (unsigned long long)segment->p_filesz, (unsigned long long)segment->p_offset,
                (unsigned long long)size);
        has_entry = has_entry || (header->e_entry >= segment->p_paddr &&
                                     header->e_entry - segment->p_paddr < segment->p_memsz);
    }
    if (!has_entry)
        return err_set(err,
            "its entry point 0x%llx lies in none of its segments, so it has no 64-bit entry for "
            "a guest; " GUEST_KERNELS,
            (unsigned long long)header->e_entry);
    return 0;
}

static int check_elf(
    int fd, const uint8_t *head, uint64_t size, uint64_t *ram_bytes, struct err *err)
{
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    Elf64_Ehdr header;
    size_t bytes;

    memcpy(&header, head, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
        return err_set(err, "it is an ELF file for another machine; " GUEST_KERNELS);
    if (header.e_type != ET_EXEC)
        return err_set(err, "it is an ELF file that cannot be loaded as a kernel (type %u); %s",
            header.e_type, GUEST_KERNELS);
    if (header.e_phentsize != sizeof(segments[0]) || header.e_phnum == 0 ||
        header.e_phnum > PROGRAM_HEADERS_MAX)
        return err_set(err, "its ELF header is damaged: %u program headers of %u bytes",
            header.e_phnum, header.e_phentsize);
    bytes = header.e_phnum * sizeof(segments[0]);
    if (!range_within(header.e_phoff, bytes, size))
        return err_set(
            err, "it is truncated: its program headers lie beyond its end; %s", GET_IT_AGAIN);
    if (fd_pread_all(fd, segments, bytes, header.e_phoff) != (ssize_t)bytes)
        return err_sys(err, "cannot read its program headers");
    return check_segments(&header, segments, size, ram_bytes, err);
}

/* Documentation/arch/x86/boot.rst. */
static int check_bzimage(const uint8_t *head, uint64_t size, uint64_t *ram_bytes, struct err *err)
{
    uint32_t setup_sectors = head[0x1f1] ? head[0x1f1] : 4;
    uint64_t code_bytes = 16 * (uint64_t)le32_load(head + 0x1f4); /* syssize, in paragraphs */
    uint64_t needed = (setup_sectors + 1) * SECTOR_BYTES + code_bytes;
    uint32_t version = le16_load(head + 0x206);

    if (version < BZIMAGE_VERSION_MIN || !(le16_load(head + 0x236) & XLF_KERNEL_64))
        return err_set(err,
            "it is a bzImage without a 64-bit entry point (boot protocol %u.%02u); take one of a "
            "64-bit kernel since 3.8",
            version >> 8, version & 0xff);
    if (code_bytes == 0 || code_bytes > le32_load(head + 0x260))
        return err_set(err, "its bzImage header is damaged: %llu bytes of code need %u to start",
            (unsigned long long)code_bytes, le32_load(head + 0x260));
    if (size < needed)
        return err_set(err, "it is truncated: a bzImage of %llu bytes in a file of %llu; %s",
            (unsigned long long)needed, (unsigned long long)size, GET_IT_AGAIN);
    /* pref_address and init_size */
    if (!u64_add(le64_load(head + 0x258), le32_load(head + 0x260), ram_bytes))
        return err_set(err, "its bzImage header is damaged: it wants to be loaded at 0x%llx",
            (unsigned long long)le64_load(head + 0x258));
    return 0;
}

int host_check_guest_kernel(int fd, uint64_t size, uint64_t *ram_bytes, struct err *err)
{
    uint8_t head[HEAD_BYTES] = {0};

    if (fd_pread_all(fd, head, sizeof(head), 0) < 0)
        return err_sys(err, "cannot read it");
    if (memcmp(head, "\037\213", 2) == 0)
        return err_set(err, "it is compressed; unpack it with gunzip: %s", GUEST_KERNELS);
    if (size < HEAD_BYTES)
        return err_set(err, "it has only %llu bytes, less than the headers of a kernel; %s",
            (unsigned long long)size, GUEST_KERNELS);
    if (memcmp(head, ELFMAG, SELFMAG) == 0)
        return check_elf(fd, head, size, ram_bytes, err);
    if (le16_load(head + 0x1fe) == 0xaa55 && memcmp(head + 0x202, "HdrS", 4) == 0)
        return check_bzimage(head, size, ram_bytes, err);
    return err_set(err, "it is not a kernel for this machine: " GUEST_KERNELS);
}
