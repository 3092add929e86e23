/* SPDX-License-Identifier: Apache-2.0 */
/* artifact_json.c: see artifact_json.h. Names are the guest's bytes. */
#include "supervisor/artifact_json.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "supervisor/artifact_type.h"
#include "supervisor/result_parts.h"

const char *artifacts_status(const struct config *config, const struct outcome *outcome)
{
    static const char *const texts[] = {[EXTRACT_COMPLETE] = "complete",
        [EXTRACT_PARTIAL] = "partial",
        [EXTRACT_REFUSED] = "refused",
        [EXTRACT_FAILED] = "failed"};

    if (config->collect.count == 0)
        return "none";
    if (outcome->has_extracted)
        return texts[outcome->extracted.status];
    return outcome->extracted_due ? "failed" : "not_exported";
}

bool artifacts_published(const struct outcome *outcome)
{
    return outcome->has_extracted && outcome->extracted.status <= EXTRACT_PARTIAL;
}

/* The extractor's text, and hostile with it: nothing in it may steer a terminal. */
json_t *artifacts_reason(const struct outcome *outcome)
{
    const struct ipc_extracted *extracted = &outcome->extracted;
    uint8_t shown[ESCAPE_FACTOR * (sizeof(extracted->text) + ESCAPE_CARRY_MAX)];
    struct escape escape = {0};
    size_t size;

    if (!outcome->has_extracted || extracted->text[0] == '\0')
        return json_null();
    size = escape_put(&escape, (const uint8_t *)extracted->text, strlen(extracted->text), shown);
    size += escape_flush(&escape, shown + size);
    return json_stringn((const char *)shown, size);
}

json_t *artifacts_bundle(const struct config *config, const struct outcome *outcome)
{
    json_t *object;

    if (!config->artifacts_bundle || !artifacts_published(outcome))
        return json_null();
    object = json_object();
    put_text(object, "file", BUNDLE_NAME);
    put_number(object, "bytes", outcome->extracted.bundle_bytes);
    put_digest(object, "sha256", outcome->extracted.bundle_sha256);
    return object;
}

json_t *artifact_json(const struct outcome_artifact *artifact, bool exported)
{
    json_t *entry = json_object();
    const char *path = artifact->exported;
    char mode[16];

    put_bytes(entry, "path", artifact->name, artifact->name_bytes);
    if (artifact->kind == ENTRY_SKIPPED) {
        put_bytes(entry, "reason", artifact->reason, strlen(artifact->reason));
        if (strcmp(artifact->reason, "type_mismatch") == 0)
            put_text(entry, "type", artifact_type_name(artifact->type));
        return entry;
    }
    if (path && (exported || strlen(path) != artifact->name_bytes ||
                    memcmp(path, artifact->name, artifact->name_bytes) != 0))
        put_bytes(entry, "exported", path, strlen(path));
    put_text(entry, "kind", artifact->kind == ENTRY_FILE ? "file" : "directory");
    snprintf(mode, sizeof(mode), "%04o", artifact->mode);
    put_text(entry, "claimed_mode", mode);
    if (artifact->kind == ENTRY_FILE) {
        put_number(entry, "size", artifact->size);
        put_digest(entry, "sha256", artifact->sha256);
        put_text(entry, "type", artifact_type_name(artifact->type));
    }
    return entry;
}

uint64_t artifacts_unlisted(const struct outcome *outcome, uint64_t listed)
{
    uint64_t skips = outcome->extracted.skipped;

    if (outcome->has_exported && outcome->exported.skipped > skips)
        skips = outcome->exported.skipped;
    return skips > listed ? skips - listed : 0;
}
