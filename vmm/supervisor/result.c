/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c: see result.h. Strings that guest or children supplied are bytes: they become JSON text
 * where they are clean UTF-8, escaped text or base64 where they are not.
 */
#include "supervisor/result.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "supervisor/json_memory.h"
#include "supervisor/output_dir.h"
#include "supervisor/result_parts.h"
#include "supervisor/version.h"

/* An ordinary result has some 4 KiB; each artifact adds 200 bytes. */
#define RESULT_ROOM_BYTES (64 * KIB)

void result_verdict(json_t *root, const struct verdict *verdict)
{
    json_t *hit = json_array();

    for (size_t i = 0; i < verdict->limit_count; i++)
        json_array_append_new(hit, json_string(verdict->limits_hit[i]));
    put_text(root, "status", verdict->status);
    put(root, "exit_code", verdict->has_exit_code ? json_integer(verdict->exit_code) : json_null());
    put(root, "signal", verdict->has_signal ? json_integer(verdict->signal) : json_null());
    put_text(root, "limit", verdict->limit);
    put(root, "limits_hit", hit);
    put_text(root, "reason", verdict->reason);
    put_number(root, "vmrun_exit_code", (uint64_t)verdict->code);
}

static json_t *span(const struct outcome *outcome, enum outcome_moment from, enum outcome_moment to)
{
    double ms;

    if (!outcome_span_ms(outcome, from, to, &ms))
        return json_null();
    return json_real((double)(uint64_t)(ms * 1000.0) / 1000.0);
}

static json_t *times(const struct outcome *outcome)
{
    json_t *object = json_object();
    time_t seconds = (time_t)(outcome->began_real_ns / NS_PER_S);
    struct tm utc;
    char began[40];

    gmtime_r(&seconds, &utc);
    strftime(began, sizeof(began), "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_text(object, "began", began);
    put(object, "prepare_ms", span(outcome, MOMENT_BEGIN, MOMENT_SPAWN));
    put(object, "launch_ms", span(outcome, MOMENT_SPAWN, MOMENT_RUNNING));
    put(object, "boot_ms", span(outcome, MOMENT_RUNNING, MOMENT_HELLO));
    put(object, "setup_ms", span(outcome, MOMENT_HELLO, MOMENT_STARTED));
    put(object, "run_ms", span(outcome, MOMENT_STARTED, MOMENT_EXITED));
    put(object, "export_ms", span(outcome, MOMENT_EXITED, MOMENT_EXPORTED));
    put(object, "stop_ms", span(outcome, MOMENT_EXPORTED, MOMENT_GONE));
    put(object, "vm_teardown_ms", span(outcome, MOMENT_ENDED, MOMENT_GONE));
    put(object, "teardown_ms", span(outcome, MOMENT_GONE, MOMENT_DONE));
    put(object, "total_ms", span(outcome, MOMENT_BEGIN, MOMENT_DONE));
    return object;
}

static json_t *streams(const struct plan *plan, const struct outcome *outcome)
{
    static const char *const names[] = {"stdout", "stderr", "console"};
    json_t *object = json_object();

    for (int i = 0; i < (plan->console ? STREAM_COUNT : STREAM_CONSOLE); i++) {
        const struct ipc_stream_totals *totals = &outcome->totals[i];
        json_t *stream;

        if (!outcome->has_totals[i]) {
            put(object, names[i], json_null());
            continue;
        }
        stream = json_object();
        put_text(stream, "file", names[i]);
        put_number(stream, "total_bytes", totals->total_bytes);
        put_number(stream, "kept_bytes", totals->kept_bytes);
        put(stream, "truncated", json_boolean(totals->kept_bytes < totals->total_bytes));
        put_digest(stream, "sha256", totals->sha256);
        put(object, names[i], stream);
    }
    return object;
}

json_t *result_limits(const struct config *config)
{
    json_t *object = json_object();

    put_number(object, "wall_ms", config->wall_ns / NS_PER_MS);
    put_number(object, "cpu_ms", config->cpu_ns / NS_PER_MS);
    put_number(object, "idle_ms", config->idle_ns / NS_PER_MS);
    put_number(object, "boot_ms", config->boot_ns / NS_PER_MS);
    put_number(object, "memory_bytes", config->task_memory_bytes);
    put_number(object, "processes", config->processes);
    put_number(object, "open_files", config->open_files);
    put_number(object, "disk_bytes", config->disk_bytes);
    put_number(object, "inodes", config->inodes);
    put_number(object, "stdout_bytes", config->stdout_bytes);
    put_number(object, "stderr_bytes", config->stderr_bytes);
    put_number(object, "artifacts_total_bytes", config->artifacts_total_bytes);
    put_number(object, "artifacts_file_bytes", config->artifacts_file_bytes);
    put_number(object, "artifacts_files", config->artifacts_files);
    put_number(object, "artifacts_depth", config->artifacts_depth);
    put_number(object, "machine_vcpus", config->vcpus);
    put_number(object, "machine_memory_bytes", config->memory_bytes);
    return object;
}

static json_t *digests(const struct plan *plan, const struct outcome *outcome)
{
    const struct {
        const char *name;
        const struct outcome_digest *digest;
    } files[] = {{"image", &outcome->image_digest}, {"kernel", &outcome->kernel_digest}};
    json_t *object = json_object();
    json_t *changed = json_array();

    put_digest(object, "config", plan->config->sha256);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i].digest->known)
            put_digest(object, files[i].name, files[i].digest->sha256);
        else
            put(object, files[i].name, json_null());
        if (files[i].digest->changed)
            json_array_append_new(changed, json_string(files[i].name));
    }
    put(object, "changed", changed);
    return object;
}

static json_t *versions(const struct outcome *outcome)
{
    json_t *object = json_object();
    struct utsname host;

    put_text(object, "vmrun", VMRUN_VERSION);
    put_text(object, "host_kernel", uname(&host) == 0 ? host.release : NULL);
    if (outcome->has_hello)
        put_bytes(
            object, "guest_kernel_claimed", outcome->hello.release, strlen(outcome->hello.release));
    else
        put(object, "guest_kernel_claimed", json_null());
    return object;
}

char *result_text(const struct plan *plan, const struct outcome *outcome,
    const struct verdict *verdict, size_t artifacts_max)
{
    json_t *root;
    char *text = NULL;

    json_memory_begin();
    root = json_object();
    put_text(root, "schema", "vmrun.result/1");
    put_text(root, "run_id", plan->run_id);
    put_text(root, "task", plan->config->name);
    result_verdict(root, verdict);
    put(root, "time", times(outcome));
    put(root, "guest_claims", result_guest_claims(outcome));
    put(root, "monitor_claims", result_monitor_claims(outcome));
    put(root, "host_measured", result_host_measured(outcome));
    put(root, "streams", streams(plan, outcome));
    put(root, "artifacts", result_artifacts(plan->config, outcome, artifacts_max));
    put(root, "limits", result_limits(plan->config));
    put(root, "controls_active", result_controls(outcome));
    put(root, "digests", digests(plan, outcome));
    put(root, "versions", versions(outcome));
    if (!json_memory_failed())
        text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    json_decref(root);
    return text;
}

/* Room up to SIZE. Where a file system cannot promise it, it is taken: by zeros. */
static bool result_allocate(int fd, size_t size)
{
    static const uint8_t zeros[4096];
    struct stat status;

    if (fallocate(fd, 0, 0, (off_t)size) == 0)
        return true;
    if ((errno != EOPNOTSUPP && errno != ENOSYS) || fstat(fd, &status) < 0)
        return false;
    for (uint64_t at = (uint64_t)status.st_size; at < size; at += sizeof(zeros)) {
        if (fd_pwrite_all(fd, zeros, (size_t)u64_min(size - at, sizeof(zeros)), at) < 0)
            return false;
    }
    return true;
}

bool result_has_room(int result_fd, const char *text)
{
    return result_allocate(result_fd, strlen(text) + 1);
}

int result_reserve(int output_fd, const char *run_id, struct err *err)
{
    char partial[OUTPUT_PARTIAL_BYTES];
    AUTO_FD int fd = -1;

    output_partial_name(partial, OUTPUT_PARTIAL_RESULT, run_id);
    fd = openat(output_fd, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(err, "cannot create result.json");
    if (!result_allocate(fd, RESULT_ROOM_BYTES)) {
        err_sys(err, "no room for result.json in the output directory");
        unlinkat(output_fd, partial, 0);
        return -1;
    }
    return fd_take(&fd);
}

static int result_fill(int fd, const char *text, struct err *err)
{
    size_t size = text ? strlen(text) : 0;

    if (!text)
        return err_set(err, "cannot write result.json: out of memory");
    if (fd_pwrite_all(fd, text, size, 0) < 0 || fd_pwrite_all(fd, "\n", 1, size) < 0 ||
        ftruncate(fd, (off_t)size + 1) < 0 || fsync(fd) < 0)
        return err_sys(err, "cannot write result.json");
    return 0;
}

int result_write(
    int output_fd, int result_fd, const char *run_id, const char *text, struct err *err)
{
    char partial[OUTPUT_PARTIAL_BYTES];

    output_partial_name(partial, OUTPUT_PARTIAL_RESULT, run_id);
    if (result_fill(result_fd, text, err) == 0) {
        if (renameat(output_fd, partial, output_fd, "result.json") == 0)
            return fsync(output_fd) == 0
                       ? 0
                       : err_sys(err, "cannot publish result.json for good"); /* it is there now */
        err_sys(err, "cannot publish result.json");
    }
    unlinkat(output_fd, partial, 0);
    return -1;
}
