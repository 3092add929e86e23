/* SPDX-License-Identifier: Apache-2.0 */
/* artifacts.c: see artifacts.h. */
#include "supervisor/artifacts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "wire/pattern.h"

enum { SHOWN_NAME_BYTES = 256 };

static const char *artifact_name(const struct outcome_artifact *artifact)
{
    return (const char *)artifact->name;
}

bool artifacts_have(const struct outcome *outcome, const char *pattern)
{
    for (size_t i = 0; i < outcome->artifact_count; i++) {
        const struct outcome_artifact *artifact = &outcome->artifacts[i];

        if (artifact->kind != ENTRY_SKIPPED &&
            pattern_covers(pattern, artifact_name(artifact), artifact->name_bytes))
            return true;
    }
    return false;
}

/* Asked for, or a directory above what was. */
static bool artifact_is_wanted(const struct config *config, const struct outcome_artifact *artifact)
{
    for (size_t i = 0; i < config->collect.count; i++) {
        const char *pattern = config->collect.items[i];

        if (pattern_covers(pattern, artifact_name(artifact), artifact->name_bytes))
            return true;
        if (artifact->kind == ENTRY_DIR &&
            pattern_leads(pattern, artifact_name(artifact), artifact->name_bytes))
            return true;
    }
    return false;
}

static bool artifact_is_optional(
    const struct config *config, const struct outcome_artifact *artifact)
{
    if (artifact->kind != ENTRY_SKIPPED || strcmp(artifact->reason, "missing") != 0)
        return false;
    for (size_t i = 0; i < config->optional.count; i++) {
        const char *path = config->optional.items[i];

        if (strlen(path) == artifact->name_bytes &&
            memcmp(path, artifact->name, artifact->name_bytes) == 0)
            return true;
    }
    return false;
}

static void artifacts_refuse(struct outcome *outcome, const struct outcome_artifact *artifact,
    const char *before, const char *after)
{
    char shown[SHOWN_NAME_BYTES];

    text_escape(shown, sizeof(shown), artifact->name, artifact->name_bytes);
    outcome->extracted.status = EXTRACT_REFUSED;
    snprintf(outcome->extracted.text, sizeof(outcome->extracted.text), "%s\"%s\"%s", before, shown,
        after);
}

void artifacts_judge(const struct config *config, struct outcome *outcome)
{
    struct ipc_extracted *extracted = &outcome->extracted;
    const struct outcome_artifact *first = NULL; /* violation that is listed */
    uint64_t violations = extracted->skipped;

    if (extracted->status > EXTRACT_PARTIAL)
        return;
    for (size_t i = 0; i < outcome->artifact_count; i++) {
        const struct outcome_artifact *artifact = &outcome->artifacts[i];

        if (artifact->kind != ENTRY_SKIPPED) {
            if (!artifact_is_wanted(config, artifact)) {
                artifacts_refuse(
                    outcome, artifact, "the archive holds ", ", which was not asked for");
                return;
            }
        } else if (artifact_is_optional(config, artifact) && violations > 0) {
            violations--;
        } else if (!first) {
            first = artifact;
        }
    }
    extracted->status = violations > 0 ? EXTRACT_PARTIAL : EXTRACT_COMPLETE;
    if (violations > 0 && config->artifacts_refuse) {
        char why[80];

        extracted->status = EXTRACT_REFUSED;
        /* Without one, those that are listed are all optional; the text says there are more. */
        if (first) {
            snprintf(why, sizeof(why), ": %s; on_violation is refuse", first->reason);
            artifacts_refuse(outcome, first, "", why);
        }
    }
}
