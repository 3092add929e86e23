/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_image_fuzz.c: the input is a kernel file. Whatever it says, nothing outside of guest RAM
 * is written, and what is accepted has an entry point inside of it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "ipc/ipc.h"
#include "monitor/arch/x86_64/kernel_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guest_mem mem = GUEST_MEM_INIT;
    struct kernel_image image;
    struct err err = ERR_INIT;
    AUTO_FD int fd = memfd_create("kernel", MFD_CLOEXEC);

    if (!mem.mapping)
        must(guest_mem_map(&mem, 64 * MIB, HUGEPAGES_NO, &err) == 0);
    must(fd >= 0 && fd_write_all(fd, data, size) == 0);
    if (kernel_image_load(fd, &mem, &image, &err) == 0)
        must(guest_mem_range(&mem, gpa(image.entry), 1) && image.end <= 64 * MIB);
    else
        must(err_is_set(&err));
    return 0;
}
