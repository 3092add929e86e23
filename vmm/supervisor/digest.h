/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h: SHA-256 of files and memory (supervisor). */
#ifndef VMM_SUPERVISOR_DIGEST_H
#define VMM_SUPERVISOR_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { DIGEST_BYTES = 32, DIGEST_TEXT_BYTES = 65 };

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size);
/* Of the whole file behind FD, whatever its position. */
int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err);

#endif
