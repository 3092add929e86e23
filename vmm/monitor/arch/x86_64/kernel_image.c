/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_image.c: see kernel_image.h. Runs in the monitor; the file is the user's. */
#include "monitor/arch/x86_64/kernel_image.h"

#include <elf.h>
#include <string.h>

#include "base/fd.h"
#include "monitor/arch/x86_64/layout.h"

enum {
    PROGRAM_HEADERS_MAX = 64,
    SECTOR_BYTES = 512,
    FIRST_BYTES = 2 * SECTOR_BYTES, /* read at once */
    BZIMAGE_MAGIC_OFFSET = 0x202,
    BZIMAGE_ENTRY64_OFFSET = 0x200, /* from the start of the protected-mode code */
    BZIMAGE_VERSION_MIN = 0x020c,   /* xloadflags */
    XLF_KERNEL_64 = 1 << 0,
};

/* One segment: file bytes, then zeroes (fresh guest RAM is zero already). */
static int segment_load(int fd, const Elf64_Phdr *segment, const struct guest_mem *mem,
    struct kernel_image *image, struct err *err)
{
    uint64_t end;
    uint8_t *host;
    ssize_t count;

    if (segment->p_memsz == 0)
        return 0;
    if (segment->p_filesz > segment->p_memsz || segment->p_paddr < LAYOUT_KERNEL ||
        !u64_add(segment->p_paddr, segment->p_memsz, &end) ||
        segment->p_offset > INT64_MAX - segment->p_filesz)
        return err_set(err, "a segment of the ELF file has impossible addresses");
    host = guest_mem_range(mem, gpa(segment->p_paddr), segment->p_memsz);
    if (!host)
        return err_set(err, "the kernel needs RAM up to %llu MiB: raise [machine] memory",
            (unsigned long long)(end / MIB + 1));
    count = fd_pread_all(fd, host, segment->p_filesz, segment->p_offset);
    if (count < 0)
        return err_sys(err, "cannot read the kernel file");
    if ((uint64_t)count != segment->p_filesz)
        return err_set(err, "the kernel file is truncated: a segment of %llu bytes at %llu is cut",
            (unsigned long long)segment->p_filesz, (unsigned long long)segment->p_offset);
    if (end > image->end)
        image->end = end;
    return 0;
}

static int elf_load(int fd, const uint8_t *first, const struct guest_mem *mem,
    struct kernel_image *image, struct err *err)
{
    Elf64_Ehdr head;
    const Elf64_Ehdr *header = memcpy(&head, first, sizeof(head));
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    size_t bytes = (size_t)header->e_phnum * sizeof(segments[0]);

    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
        header->e_type != ET_EXEC)
        return err_set(err, "the ELF file is not an x86_64 kernel (vmlinux)");
    if (header->e_phentsize != sizeof(segments[0]) || header->e_phnum == 0 ||
        header->e_phnum > PROGRAM_HEADERS_MAX || header->e_phoff > INT64_MAX - bytes)
        return err_set(err, "the ELF file has an impossible program header table");
    if (range_within(header->e_phoff, bytes, FIRST_BYTES)) {
        memcpy(segments, first + header->e_phoff, bytes); /* as always, but for odd linkers */
    } else {
        ssize_t count = fd_pread_all(fd, segments, bytes, header->e_phoff);

        if (count < 0)
            return err_sys(err, "cannot read the kernel file");
        if (count != (ssize_t)bytes)
            return err_set(err, "the kernel file is truncated: its program headers are cut");
    }
    image->entry = header->e_entry;
    image->end = 0;
    image->setup_header_bytes = 0;
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segment_load(fd, &segments[i], mem, image, err) < 0)
            return -1;
    }
    if (image->entry < LAYOUT_KERNEL || image->entry >= image->end ||
        image->entry >= LAYOUT_MAPPED_BYTES)
        return err_set(err, "the entry point of the ELF file lies outside of its segments");
    return 0;
}

/* What is needed of the setup header, by its offset in the file. */
struct bzimage {
    uint32_t setup_sectors, version, loadflags64, init_size;
    uint64_t preferred;
};

static int bzimage_check(const uint8_t *first, struct bzimage *bz, struct err *err)
{
    bz->setup_sectors = first[0x1f1] ? first[0x1f1] : 4;
    bz->version = le16_load(first + 0x206);
    bz->loadflags64 = le16_load(first + 0x236);
    bz->preferred = le64_load(first + 0x258);
    bz->init_size = le32_load(first + 0x260);
    if (bz->version < BZIMAGE_VERSION_MIN || !(bz->loadflags64 & XLF_KERNEL_64))
        return err_set(err, "the bzImage has no 64-bit entry point (boot protocol %u.%02u)",
            bz->version >> 8, bz->version & 0xff);
    if (bz->preferred < LAYOUT_KERNEL || bz->preferred >= LAYOUT_MAPPED_BYTES ||
        bz->init_size == 0 || bz->init_size > LAYOUT_MAPPED_BYTES - bz->preferred)
        return err_set(err, "the bzImage wants to be loaded at an impossible address");
    return 0;
}

static int bzimage_load(int fd, const uint8_t *first, const struct guest_mem *mem,
    struct kernel_image *image, struct err *err)
{
    struct bzimage bz;
    uint64_t start, file_bytes;
    uint32_t header_end;
    uint8_t *host;
    ssize_t count;

    if (bzimage_check(first, &bz, err) < 0 || fd_size(fd, &file_bytes, err) < 0)
        return -1;
    start = (uint64_t)(bz.setup_sectors + 1) * SECTOR_BYTES;
    if (start >= file_bytes || file_bytes - start > bz.init_size)
        return err_set(err, "the bzImage is truncated or says a wrong size");
    host = guest_mem_range(mem, gpa(bz.preferred), bz.init_size);
    if (!host)
        return err_set(err, "the kernel needs RAM up to %llu MiB: raise [machine] memory",
            (unsigned long long)((bz.preferred + bz.init_size) / MIB + 1));
    count = fd_pread_all(fd, host, file_bytes - start, start);
    if (count < 0)
        return err_sys(err, "cannot read the kernel file");
    if (count != (ssize_t)(file_bytes - start))
        return err_set(err, "the kernel file cannot be read to its end");
    /* The header ends where the jump at its start (0x200, a short jmp) goes to. */
    header_end = 0x202U + first[0x201];
    image->setup_header_bytes = header_end - SETUP_HEADER_OFFSET;
    if (image->setup_header_bytes > SETUP_HEADER_MAX_BYTES)
        return err_set(err, "the setup header of the bzImage is too long");
    memcpy(image->setup_header, first + SETUP_HEADER_OFFSET, image->setup_header_bytes);
    image->entry = bz.preferred + BZIMAGE_ENTRY64_OFFSET;
    image->end = bz.preferred + bz.init_size;
    return 0;
}

int kernel_image_load(
    int fd, const struct guest_mem *mem, struct kernel_image *image, struct err *err)
{
    uint8_t first[FIRST_BYTES] = {0};
    ssize_t count = fd_pread_all(fd, first, sizeof(first), 0);

    if (count < 0)
        return err_sys(err, "cannot read the kernel file");
    if (count < (ssize_t)sizeof(first))
        return err_set(err, "the kernel file is truncated: it has only %zd bytes", count);
    if (memcmp(first, ELFMAG, SELFMAG) == 0)
        return elf_load(fd, first, mem, image, err);
    if (memcmp(first + BZIMAGE_MAGIC_OFFSET, "HdrS", 4) == 0)
        return bzimage_load(fd, first, mem, image, err);
    return err_set(err, "the kernel file is neither an ELF vmlinux nor a bzImage");
}
