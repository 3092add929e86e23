/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.c: see outcome.h. */
#include "supervisor/outcome.h"

#include <stdlib.h>

#include "base/clock.h"

void outcome_free(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->artifact_count; i++) {
        free(outcome->artifacts[i].name);
        free(outcome->artifacts[i].exported);
    }
    free(outcome->artifacts);
    outcome->artifacts = NULL;
    outcome->artifact_count = 0;
}

bool outcome_span_ms(
    const struct outcome *outcome, enum outcome_moment from, enum outcome_moment to, double *ms)
{
    uint64_t start = outcome->moments_ns[from], end = outcome->moments_ns[to];

    if (start == 0 || end < start)
        return false;
    *ms = (double)(end - start) / (double)NS_PER_MS;
    return true;
}
