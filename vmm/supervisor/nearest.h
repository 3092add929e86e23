/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h: "did you mean" (supervisor). */
#ifndef VMM_SUPERVISOR_NEAREST_H
#define VMM_SUPERVISOR_NEAREST_H

/*
 * BEST (may be NULL) or CANDIDATE, whichever is nearer to WRITTEN by edit distance; only names that
 * are near enough to be a slip count.
 */
const char *nearest(const char *best, const char *candidate, const char *written);

#endif
