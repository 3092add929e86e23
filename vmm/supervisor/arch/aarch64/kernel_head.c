/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_head.c of aarch64: see arch.h. The file is the user's. */
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "supervisor/arch/arch.h"

enum { HEAD_BYTES = 64 };

/* Documentation/arch/arm64/booting.rst: text_offset at 8, image_size at 16 (with .bss), magic
 * at 56. */
int host_check_guest_kernel(int fd, uint64_t size, uint64_t *ram_bytes, struct err *err)
{
    uint8_t head[HEAD_BYTES] = {0};

    if (fd_pread_all(fd, head, sizeof(head), 0) < 0)
        return err_sys(err, "cannot read it");
    if (size < HEAD_BYTES || memcmp(head + 56, "ARM\x64", 4) != 0)
        return err_set(err,
            "it is not a kernel for this machine: it must be an uncompressed Image for aarch64");
    if (le64_load(head + 16) == 0)
        return err_set(err, "it does not tell its size: it is from before Linux 3.17");
    if (!u64_add(le64_load(head + 8), le64_load(head + 16), ram_bytes))
        return err_set(err, "its header is damaged: it says a size of 0x%llx",
            (unsigned long long)le64_load(head + 16));
    return 0;
}
