/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h: a file name without what some file systems do not tell apart: case and normal form
 * (extractor). Two names with the same fold may be one file where the artifacts are copied to.
 * Pure; the name is hostile, but plain text (names.h).
 *
 * Canonical decomposition and simple case folding of Unicode; marks that follow a letter are put
 * into one order, so that a few names that differ fold to the same. That is on the safe side.
 */
#ifndef VMM_EXTRACTOR_FOLD_H
#define VMM_EXTRACTOR_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "extractor/names.h"

/* No character of N bytes of UTF-8 decomposes to more than 2 N others. */
enum { FOLD_MAX = 2 * NAME_COMPONENT_MAX_BYTES };

/* The fold of COMPONENT, at most NAME_COMPONENT_MAX_BYTES long. Returns the number of TO. */
size_t fold_name(uint32_t to[FOLD_MAX], const uint8_t *component, size_t size);

#endif
