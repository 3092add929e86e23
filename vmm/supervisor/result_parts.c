/* SPDX-License-Identifier: Apache-2.0 */
/* result_parts.c: see result_parts.h. */
#include "supervisor/result_parts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/artifact_json.h"
#include "supervisor/manifest.h"

/* Characters of SIZE bytes in base64, with a NUL. */
#define BASE64_BYTES(size) (4 * ((size) / 3 + 1) + 1)

void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value); /* json_memory_failed() tells */
}

void put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    char shown[4096];

    if (!value) { /* not UTF-8 */
        text_escape(shown, sizeof(shown), text, strlen(text));
        value = json_string(shown);
    }
    put(object, key, value);
}

void put_number(json_t *object, const char *key, uint64_t value)
{
    put(object, key, json_integer((json_int_t)u64_min(value, INT64_MAX)));
}

void put_digest(json_t *object, const char *key, const uint8_t digest[IPC_DIGEST_BYTES])
{
    char text[2 * IPC_DIGEST_BYTES + 1];

    text_hex(text, digest, IPC_DIGEST_BYTES);
    put(object, key, json_string(text));
}

/* UTF-8 without what can steer a terminal. */
static bool is_clean(const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t length = text_utf8_length(bytes, size);

        if (length == 0 || text_utf8_is_control(bytes, length))
            return false;
        bytes += length;
        size -= length;
    }
    return true;
}

void put_bytes(json_t *object, const char *key, const void *bytes, size_t size)
{
    char encoded[BASE64_BYTES(PUT_BYTES_MAX)], name[64];

    if (is_clean(bytes, size)) {
        put(object, key, json_stringn(bytes, size));
        return;
    }
    must(size <= PUT_BYTES_MAX);
    snprintf(name, sizeof(name), "%s_base64", key);
    EVP_EncodeBlock((unsigned char *)encoded, bytes, (int)size);
    put(object, name, json_string(encoded));
}

static void put_ms(json_t *object, const char *key, uint64_t ns)
{
    put(object, key, json_real((double)(ns / 1000) / 1000.0));
}

json_t *result_guest_claims(const struct outcome *outcome)
{
    const struct wire_exited *exited = &outcome->exited;
    json_t *object = json_object();

    if (outcome->has_hello) {
        put_number(object, "cpus", outcome->hello.cpu_count);
        put_number(object, "memory_bytes", outcome->hello.memory_bytes);
        put_ms(object, "agent_start_ms", outcome->hello.uptime_ns);
    }
    if (outcome->has_started)
        put_ms(object, "setup_ms", outcome->started.setup_ns);
    if (outcome->has_exited) {
        put_ms(object, "run_ms", exited->run_ns);
        put_ms(object, "cpu_user_ms", exited->user_ns);
        put_ms(object, "cpu_system_ms", exited->system_ns);
        put_number(object, "memory_peak_bytes", exited->memory_peak_bytes);
        put_number(object, "oom_kills", exited->oom_kills);
        put_number(object, "processes_limit_hits", exited->pids_max_events);
    }
    if (outcome->has_exported) {
        put_number(object, "archive_bytes", outcome->exported.archive_bytes);
        put_number(object, "archive_error", outcome->exported.error);
        put_ms(object, "export_ms", outcome->exported.export_ns);
    }
    return object;
}

json_t *result_monitor_claims(const struct outcome *outcome)
{
    json_t *object;

    if (!outcome->has_ended)
        return json_null();
    object = json_object();
    put_number(object, "exits", outcome->ended.exits);
    put_ms(object, "vcpu_ms", outcome->ended.vcpu_ns);
    return object;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

json_t *result_host_measured(const struct outcome *outcome)
{
    const struct rusage *usage = &outcome->monitor_usage;
    json_t *object = json_object();
    json_t *disks = json_object();

    if (outcome->monitor_reaped) {
        put_ms(object, "monitor_cpu_ms", timeval_ns(usage->ru_utime) + timeval_ns(usage->ru_stime));
        put_number(object, "monitor_peak_rss_bytes", (uint64_t)usage->ru_maxrss * KIB);
    } else {
        put(object, "monitor_cpu_ms", json_null());
        put(object, "monitor_peak_rss_bytes", json_null());
    }
    if (outcome->monitor_own_rss_bytes)
        put_number(object, "monitor_rss_without_guest_bytes", outcome->monitor_own_rss_bytes);
    else
        put(object, "monitor_rss_without_guest_bytes", json_null());
    put_number(disks, "scratch", outcome->scratch_bytes);
    put_number(disks, "export", outcome->export_bytes);
    put_number(disks, "import", outcome->import_bytes);
    put(object, "disk_bytes", disks);
    return object;
}

json_t *result_artifacts(
    const struct config *config, const struct outcome *outcome, size_t artifacts_max)
{
    bool published = artifacts_published(outcome);
    json_t *object = json_object();
    json_t *list = json_array();
    json_t *skipped = json_array();
    uint64_t left_out = 0, skips = 0;

    for (size_t i = 0; i < outcome->artifact_count; i++) {
        const struct outcome_artifact *artifact = &outcome->artifacts[i];
        bool is_skipped = artifact->kind == ENTRY_SKIPPED;
        json_t *to = is_skipped ? skipped : list;

        if (!is_skipped && !published)
            continue;
        skips += is_skipped;
        if (json_array_size(to) == artifacts_max)
            left_out++;
        else
            json_array_append_new(to, artifact_json(artifact, false));
    }
    put_text(object, "status", artifacts_status(config, outcome));
    put(object, "reason", artifacts_reason(outcome));
    put_text(object, "manifest", config->collect.count > 0 ? MANIFEST_NAME : NULL);
    put(object, "bundle", artifacts_bundle(config, outcome));
    put_number(object, "files", published ? outcome->extracted.files : 0);
    put_number(object, "bytes", published ? outcome->extracted.bytes : 0);
    put(object, "list", list);
    put(object, "skipped", skipped);
    put_number(object, "unlisted", left_out + artifacts_unlisted(outcome, skips));
    put(object, "salvaged", json_boolean(published && outcome->salvage.exported));
    put_text(object, "salvage_error",
        outcome->salvage.tried && !outcome->salvage.exported ? outcome->salvage.text : NULL);
    return object;
}
