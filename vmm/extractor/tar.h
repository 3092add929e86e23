/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h: headers of a tar archive (extractor): ustar, with a pax header in front where a path or a
 * size does not fit (POSIX.1-2017, pax). Pure. The same entries make the same bytes: no times, no
 * owners. Paths are the exported ones: plain, relative, shorter than TAR_PATH_BYTES.
 */
#ifndef VMM_EXTRACTOR_TAR_H
#define VMM_EXTRACTOR_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "ipc/ipc.h"

enum {
    TAR_BLOCK_BYTES = 512,
    TAR_PATH_BYTES = IPC_EXPORTED_BYTES,
    /* Header and records of a pax header, rounded up, and the ustar header. */
    TAR_HEADERS_MAX = 4 * TAR_BLOCK_BYTES + 4096,
    TAR_END_BYTES = 2 * TAR_BLOCK_BYTES, /* of zeroes, behind the last entry */
};

/* Headers of a file, whose content and tar_padding() follow. Returns how many bytes they are. */
size_t tar_file(
    uint8_t headers[TAR_HEADERS_MAX], const char *path, uint32_t mode, uint64_t size_bytes);

size_t tar_dir(uint8_t headers[TAR_HEADERS_MAX], const char *path);

/* Zeroes that fill the last block of a file. */
size_t tar_padding(uint64_t size_bytes);

#endif
