/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_digest.h: the SHA-256 of what a run is made from: its image, its kernel (supervisor; the
 * files are the user's).
 *
 * It is read through once, and remembered (digest_cache.h) for as long as the file is what it was.
 * Not remembered is a file that others may write, and one that was written in the last two seconds:
 * another write in the same tick of the file system's clock would not show. Where the file has a
 * fs-verity digest, which the kernel holds its content to, that one alone says what it is.
 */
#ifndef VMM_SUPERVISOR_FILE_DIGEST_H
#define VMM_SUPERVISOR_FILE_DIGEST_H

#include <stdbool.h>

#include "supervisor/digest.h"

/* Compute it from the content, and remember it. Fails when the file changes meanwhile. */
int file_digest_compute(int fd, uint8_t digest[DIGEST_BYTES], struct err *err);

/* What is remembered of the file behind FD; false when nothing is, or nothing may be. */
bool file_digest_recall(int fd, uint8_t digest[DIGEST_BYTES]);

/* It would be remembered: neither young nor writable by others. */
bool file_digest_lasts(int fd);

/* The file behind FD has the digest WANTED; recalled or computed. *IS is what it has. */
int file_digest_check(
    int fd, const uint8_t wanted[DIGEST_BYTES], uint8_t is[DIGEST_BYTES], struct err *err);

/* Its fs-verity digest, when the kernel keeps one of SHA-256. */
bool file_digest_verity(int fd, uint8_t digest[DIGEST_BYTES]);

#endif
