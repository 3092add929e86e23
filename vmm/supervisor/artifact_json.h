/* SPDX-License-Identifier: Apache-2.0 */
/* artifact_json.h: artifacts as JSON, for result.json and manifest.json (supervisor). */
#ifndef VMM_SUPERVISOR_ARTIFACT_JSON_H
#define VMM_SUPERVISOR_ARTIFACT_JSON_H

#include <jansson.h>

#include "supervisor/config.h"
#include "supervisor/outcome.h"

/* "complete", "none", ... */
const char *artifacts_status(const struct config *config, const struct outcome *outcome);

/* True when what is in the list came out. */
bool artifacts_published(const struct outcome *outcome);

/* Why nothing came, for people; JSON null when there is nothing to say. */
json_t *artifacts_reason(const struct outcome *outcome);

/* {"file", "bytes", "sha256"}, or JSON null. */
json_t *artifacts_bundle(const struct config *config, const struct outcome *outcome);

/*
 * One file, directory or skipped entry. EXPORTED: its path in artifacts/ also where it is the one
 * in the guest.
 */
json_t *artifact_json(const struct outcome_artifact *artifact, bool exported);

/* How many were skipped and are not among LISTED ones. The guest's own count is a claim. */
uint64_t artifacts_unlisted(const struct outcome *outcome, uint64_t listed);

#endif
