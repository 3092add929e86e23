/* SPDX-License-Identifier: Apache-2.0 */
/* fold_table.h: the data of fold.c, sorted by code point (extractor). */
#ifndef VMM_EXTRACTOR_FOLD_TABLE_H
#define VMM_EXTRACTOR_FOLD_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* One step of a canonical decomposition; SECOND is 0 when there is one part only. */
struct fold_decomposition {
    uint32_t from, first, second;
};
extern const struct fold_decomposition fold_decompositions[];
extern const size_t fold_decomposition_count;

/* Code points of a combining class other than 0. */
struct fold_range {
    uint32_t first, last;
};
extern const struct fold_range fold_marks[];
extern const size_t fold_mark_count;

/* Simple case folding: each STEP-th code point from FIRST to LAST becomes itself plus ADD. */
struct fold_case {
    uint32_t first, last, step;
    int32_t add;
};
extern const struct fold_case fold_cases[];
extern const size_t fold_case_count;

#endif
