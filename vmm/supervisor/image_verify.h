/* SPDX-License-Identifier: Apache-2.0 */
/* image_verify.h: `vmrun image verify` (supervisor; the file is the user's). */
#ifndef VMM_SUPERVISOR_IMAGE_VERIFY_H
#define VMM_SUPERVISOR_IMAGE_VERIFY_H

#include <stdbool.h>
#include <stdio.h>

#include "supervisor/text_list.h"

/*
 * Compute the digest of the image PATH and print it as sha256sum does, or as JSON. Returns 0, or 1
 * with a line in ERRORS.
 */
int image_verify(const char *path, bool json, FILE *out, struct text_list *errors);

#endif
