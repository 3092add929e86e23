/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.c: see manifest.h. Written entry by entry: there may be more of them than should be in
 * memory as JSON.
 */
#include "supervisor/manifest.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "supervisor/artifact_json.h"
#include "supervisor/json_memory.h"
#include "supervisor/output_dir.h"
#include "supervisor/result_parts.h"

enum { DUMP_FLAGS = JSON_COMPACT | JSON_PRESERVE_ORDER };

/* CON, NUL.txt, COM1: devices, whatever follows the first dot. */
static bool is_device(const char *name, size_t size)
{
    static const char *const devices[] = {"CON", "PRN", "AUX", "NUL"};
    const char *dot = memchr(name, '.', size);
    size_t stem = dot ? (size_t)(dot - name) : size;

    for (size_t i = 0; stem == 3 && i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (strncasecmp(name, devices[i], 3) == 0)
            return true;
    }
    return stem == 4 && name[3] >= '1' && name[3] <= '9' &&
           (strncasecmp(name, "COM", 3) == 0 || strncasecmp(name, "LPT", 3) == 0);
}

bool manifest_is_portable(const char *path)
{
    for (;;) {
        size_t size = strcspn(path, "/");

        if (strcspn(path, "/<>:\"\\|?*") != size || is_device(path, size))
            return false;
        if (size > 0 && (path[size - 1] == '.' || path[size - 1] == ' '))
            return false;
        if (path[size] == '\0')
            return true;
        path += size + 1;
    }
}

/* One line of a list. */
static void put_line(FILE *file, const char *before, json_t *object)
{
    fputs(before, file);
    if (json_dumpf(object, file, DUMP_FLAGS) < 0)
        json_memory_miss(); /* or the file has an error, which it keeps */
    json_decref(object);
}

static uint64_t put_entries(FILE *file, const struct outcome *outcome, bool skipped)
{
    bool published = artifacts_published(outcome);
    uint64_t count = 0;

    for (size_t i = 0; i < outcome->artifact_count; i++) {
        const struct outcome_artifact *artifact = &outcome->artifacts[i];
        json_t *entry;

        if ((artifact->kind == ENTRY_SKIPPED) != skipped || (!skipped && !published))
            continue;
        entry = artifact_json(artifact, true);
        if (!skipped && artifact->exported)
            put(entry, "portable", json_boolean(manifest_is_portable(artifact->exported)));
        put_line(file, count++ ? ",\n    " : "\n    ", entry);
    }
    return count;
}

static void put_head(FILE *file, const struct plan *plan, const struct outcome *outcome)
{
    bool published = artifacts_published(outcome);
    json_t *head = json_object();
    AUTO_JSON_TEXT char *text = NULL;

    put_text(head, "schema", "vmrun.manifest/1");
    put_text(head, "run_id", plan->run_id);
    put_text(head, "task", plan->config->name);
    put_text(head, "status", artifacts_status(plan->config, outcome));
    put(head, "reason", artifacts_reason(outcome));
    put(head, "bundle", artifacts_bundle(plan->config, outcome));
    put_number(head, "files", published ? outcome->extracted.files : 0);
    put_number(head, "bytes", published ? outcome->extracted.bytes : 0);
    text = json_dumps(head, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(head);
    if (!text) {
        json_memory_miss();
        return;
    }
    text[strlen(text) - 2] = '\0'; /* the newline and bracket at its end: lists follow */
    fputs(text, file);
}

static void put_manifest(FILE *file, const struct plan *plan, const struct outcome *outcome)
{
    uint64_t listed;

    put_head(file, plan, outcome);
    fputs(",\n  \"entries\": [", file);
    put_entries(file, outcome, false);
    fputs("\n  ],\n  \"skipped\": [", file);
    listed = put_entries(file, outcome, true);
    fprintf(file, "\n  ],\n  \"unlisted\": %llu\n}\n",
        (unsigned long long)artifacts_unlisted(outcome, listed));
}

/* Returns 0 when all of it is on the disk. */
static int manifest_fill(
    int fd, const struct plan *plan, const struct outcome *outcome, struct err *err)
{
    FILE *file = fdopen(fd, "w");
    bool written;

    if (!file) {
        err_sys(err, "cannot write " MANIFEST_NAME);
        close(fd);
        return -1;
    }
    json_memory_begin();
    put_manifest(file, plan, outcome);
    written =
        !json_memory_failed() && fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    if (json_memory_failed())
        err_set(err, "out of memory for " MANIFEST_NAME);
    else if (!written)
        err_sys(err, "cannot write " MANIFEST_NAME);
    if (fclose(file) != 0 && written)
        written = err_sys(err, "cannot write " MANIFEST_NAME) == 0;
    return written ? 0 : -1;
}

int manifest_write(
    int output_fd, const struct plan *plan, const struct outcome *outcome, struct err *err)
{
    char partial[OUTPUT_PARTIAL_BYTES];
    int fd;

    output_partial_name(partial, OUTPUT_PARTIAL_MANIFEST, plan->run_id);
    fd = openat(output_fd, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(err, "cannot create " MANIFEST_NAME);
    if (manifest_fill(fd, plan, outcome, err) == 0 &&
        output_publish(output_fd, partial, output_fd, MANIFEST_NAME, err) == 0)
        return 0;
    unlinkat(output_fd, partial, 0);
    return -1;
}
