/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.c: see outcome.h. */
#include "supervisor/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

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

/* The list grows at powers of two. */
static bool outcome_has_room(struct outcome *outcome)
{
    size_t count = outcome->artifact_count, room = count ? 2 * count : 1;
    void *grown;

    if (count & (count - 1))
        return true;
    grown = reallocarray(outcome->artifacts, room, sizeof(*outcome->artifacts));
    if (grown)
        outcome->artifacts = grown;
    return grown != NULL;
}

int outcome_add_artifact(struct outcome *outcome, const struct ipc_entry *entry, struct err *err)
{
    AUTO_FREE char *exported = NULL;
    AUTO_FREE uint8_t *name = malloc(entry->name_bytes + 1);
    struct outcome_artifact *artifact;

    if (entry->kind != ENTRY_SKIPPED)
        exported = strdup(entry->exported);
    if (!name || (entry->kind != ENTRY_SKIPPED && !exported) || !outcome_has_room(outcome))
        return err_sys(err, "cannot keep the names of the artifacts");
    memcpy(name, entry->name, entry->name_bytes);
    artifact = &outcome->artifacts[outcome->artifact_count++];
    *artifact = (struct outcome_artifact){.kind = entry->kind,
        .mode = entry->mode,
        .size = entry->size,
        .type = entry->type,
        .exported = take(&exported),
        .name_bytes = entry->name_bytes,
        .name = take(&name)};
    memcpy(artifact->sha256, entry->sha256, sizeof(artifact->sha256));
    memcpy(artifact->reason, entry->reason, sizeof(artifact->reason));
    return 0;
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
