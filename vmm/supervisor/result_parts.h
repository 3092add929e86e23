/* SPDX-License-Identifier: Apache-2.0 */
/* result_parts.h: parts of result.json; private to result*.c (supervisor). */
#ifndef VMM_SUPERVISOR_RESULT_PARTS_H
#define VMM_SUPERVISOR_RESULT_PARTS_H

#include <jansson.h>

#include "supervisor/config.h"
#include "supervisor/outcome.h"
#include "supervisor/verdict.h"

/*
 * Each takes over VALUE. Nothing here fails: without memory something is missing from the object,
 * and json_memory_failed() says so.
 */
void put(json_t *object, const char *key, json_t *value);
/* TEXT is ours; NULL becomes null. */
void put_text(json_t *object, const char *key, const char *text);
void put_number(json_t *object, const char *key, uint64_t value);
void put_digest(json_t *object, const char *key, const uint8_t digest[IPC_DIGEST_BYTES]);
/* Of put_bytes(). */
enum { PUT_BYTES_MAX = IPC_NAME_MAX_BYTES };
/* Hostile bytes: as they are when they are printable UTF-8, else KEY_base64. */
void put_bytes(json_t *object, const char *key, const void *bytes, size_t size);

json_t *result_guest_claims(const struct outcome *outcome);
json_t *result_monitor_claims(const struct outcome *outcome);
json_t *result_host_measured(const struct outcome *outcome);
json_t *result_artifacts(
    const struct config *config, const struct outcome *outcome, size_t artifacts_max);
json_t *result_controls(const struct outcome *outcome);
/* result.c: status and all that belongs to it; the effective limits. */
void result_verdict(json_t *object, const struct verdict *verdict);
json_t *result_limits(const struct config *config);

#endif
