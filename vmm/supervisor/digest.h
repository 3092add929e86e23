/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h: SHA-256 of files and memory (supervisor). */
#ifndef VMM_SUPERVISOR_DIGEST_H
#define VMM_SUPERVISOR_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

enum { DIGEST_BYTES = 32, DIGEST_TEXT_BYTES = 65 };

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size);
/* Of the whole file behind FD, whatever its position. */
int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err);

/* The same piece by piece, for a caller that has other things to do between. */
struct digest_work {
    struct sha256 hash;
    bool going_on; /* begun, and not over */
    int fd;        /* not owned */
    uint64_t offset;
};

void digest_begin(struct digest_work *work, int fd);
/*
 * Go on for about MAX_BYTES more. Returns 1 when there may be more; 0 at the end of the file, with
 * DIGEST set; -1 on an error. The work is over with 0 and -1.
 */
int digest_go_on(
    struct digest_work *work, uint64_t max_bytes, uint8_t digest[DIGEST_BYTES], struct err *err);

#endif
