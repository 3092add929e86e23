/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c: see nearest.h. */
#include "supervisor/nearest.h"

#include <stddef.h>
#include <string.h>

enum { NAME_BYTES = 40, FAR = 1000 };

/* Levenshtein distance, row by row; names that are too long to be a slip are FAR. */
static size_t distance(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t row[NAME_BYTES + 1];

    if (a_length > NAME_BYTES || b_length > NAME_BYTES)
        return FAR;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            diagonal = row[j];
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[b_length];
}

const char *nearest(const char *best, const char *candidate, const char *written)
{
    size_t limit = 1 + strlen(written) / 3;
    size_t best_distance = best ? distance(best, written) : FAR;
    size_t candidate_distance = distance(candidate, written);

    if (strcmp(candidate, "*") == 0 || candidate_distance > limit)
        return best;
    return candidate_distance < best_distance ? candidate : best;
}
