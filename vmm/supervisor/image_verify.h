/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_verify.h: the SHA-256 of a dependency image (supervisor; the file is the user's).
 *
 * It is read through once, and remembered (digest_cache.h) for as long as the file is what it was.
 * Not remembered is a file that others may write, and one that was written in the last two seconds:
 * another write in the same tick of the file system's clock would not show. Where the file has a
 * fs-verity digest, which the kernel holds its content to, that one alone says what it is.
 */
#ifndef VMM_SUPERVISOR_IMAGE_VERIFY_H
#define VMM_SUPERVISOR_IMAGE_VERIFY_H

#include <stdio.h>

#include "supervisor/digest.h"
#include "supervisor/text_list.h"

/* Compute it from the content, and remember it. Fails when the file changes meanwhile. */
int image_digest_compute(int fd, uint8_t digest[DIGEST_BYTES], struct err *err);

/* What is remembered of the file behind FD; false when nothing is, or nothing may be. */
bool image_digest_recall(int fd, uint8_t digest[DIGEST_BYTES]);

/* It would be remembered: neither young nor writable by others. */
bool image_digest_lasts(int fd);

/* The image behind FD has the digest WANTED; recalled or computed. *IS is what it has. */
int image_digest_check(
    int fd, const uint8_t wanted[DIGEST_BYTES], uint8_t is[DIGEST_BYTES], struct err *err);

/*
 * `vmrun image verify FILE`: compute the digest and print it as sha256sum does, or as JSON. Returns
 * 0, or 1 with a line in ERRORS.
 */
int image_verify(const char *path, bool json, FILE *out, struct text_list *errors);

#endif
