/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fallocate */
/* result_test.c: result.json has every field whatever happened, and hostile bytes stay bytes. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "jail/proof.h"
#include "base/text.h"
#include "supervisor/result.h"
#include "tests/unit/unit.h"

static struct config config;
static struct plan plan = {.config = &config, .run_id = "run-1"};
static struct outcome outcome;
static struct verdict verdict;
static json_t *json;
static size_t artifacts_max; /* of result_text() */
static char name[] = "t";

static bool room_cannot_be_promised;

int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
    errno = EOPNOTSUPP;
    return room_cannot_be_promised ? -1 : __real_fallocate(fd, mode, offset, size);
}

static int set_up(void **state)
{
    (void)state;
    memset(&outcome, 0, sizeof(outcome));
    room_cannot_be_promised = false;
    config.name = name;
    artifacts_max = RESULT_ARTIFACTS_MAX;
    verdict = (struct verdict){.status = "ok", .reason = "fine"};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(json);
    json = NULL;
    text_list_free(&config.collect);
    return 0;
}

/* Keep the text for tests/docs, where it is checked against the schema. */
static void keep(const char *text)
{
    static unsigned count;
    AUTO_FREE char *path = text_format("build/results/unit/%u.json", ++count);
    FILE *file;

    mkdir("build/results", 0777);
    mkdir("build/results/unit", 0777);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make(void)
{
    AUTO_FREE char *text = result_text(&plan, &outcome, &verdict, artifacts_max);

    keep(text);
    json_decref(json);
    json = json_loads(text, 0, NULL);
    assert_non_null(json);
}

/* The value at "a.b.0.c"; fails when it is not there. */
static json_t *at(const char *path)
{
    AUTO_FREE char *parts = strdup(path);
    json_t *value = json;
    char *rest = parts;

    for (char *part; (part = strsep(&rest, "."));) {
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(part))
                                     : json_object_get(value, part);
        if (!value)
            fail_msg("no %s in %s", part, path);
    }
    return value;
}

static void fields_are_null_when_nothing_happened(void **state)
{
    static const char *const nulls[] = {"exit_code", "signal", "limit", "time.boot_ms",
        "time.run_ms", "monitor_claims", "host_measured.monitor_cpu_ms",
        "host_measured.monitor_peak_rss_bytes", "streams.stdout", "streams.stderr", "digests.image",
        "digests.kernel", "versions.guest_kernel_claimed"};

    (void)state;
    make();
    assert_string_equal(json_string_value(at("schema")), "vmrun.result/1");
    assert_string_equal(json_string_value(at("run_id")), "run-1");
    assert_string_equal(json_string_value(at("task")), "t");
    assert_int_equal(json_array_size(at("limits_hit")), 0);
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
        if (!json_is_null(at(nulls[i])))
            fail_msg("%s is not null", nulls[i]);
    }
    assert_string_equal(json_string_value(at("artifacts.status")), "none");
    assert_true(json_is_object(at("guest_claims")) && json_is_object(at("limits")));
    assert_int_equal(json_array_size(at("controls_active.claimed_by_guest")), 0);
    assert_true(json_is_null(at("controls_active.jail")));
    assert_null(json_object_get(at("streams"), "console"));
}

static void a_verdict_comes_with_its_numbers(void **state)
{
    (void)state;
    verdict = (struct verdict){.status = "limit",
        .limit = "memory",
        .has_signal = true,
        .signal = 9,
        .limits_hit = {"memory", "stdout"},
        .limit_count = 2,
        .reason = "r",
        .code = 137};
    outcome.moments_ns[MOMENT_STARTED] = NS_PER_S;
    outcome.moments_ns[MOMENT_EXITED] = NS_PER_S + 1500000;
    outcome.has_totals[STREAM_STDOUT] = true;
    outcome.totals[STREAM_STDOUT] =
        (struct ipc_stream_totals){.total_bytes = 10, .kept_bytes = 4, .sha256 = {0xab}};
    outcome.has_started = true;
    outcome.started.controls = WIRE_CONTROL_SECCOMP;
    make();
    assert_int_equal(json_integer_value(at("signal")), 9);
    assert_string_equal(json_string_value(at("limit")), "memory");
    assert_string_equal(json_string_value(at("limits_hit.1")), "stdout");
    assert_int_equal(json_integer_value(at("vmrun_exit_code")), 137);
    assert_true(json_real_value(at("time.run_ms")) > 1.49);
    assert_true(json_real_value(at("time.run_ms")) < 1.51);
    assert_true(json_is_true(at("streams.stdout.truncated")));
    assert_int_equal(strncmp(json_string_value(at("streams.stdout.sha256")), "ab00", 4), 0);
    assert_string_equal(json_string_value(at("controls_active.claimed_by_guest.0")), "seccomp");
}

static void names_from_the_guest_are_text_or_base64(void **state)
{
    uint8_t plain[] = "out/\xc3\xa9";
    uint8_t broken[] = "a\xff"
                       "b";
    uint8_t control[] = "a\nb", bidi[] = "a\xe2\x80\xae";
    char same[] = "out/\xc3\xa9", other[] = "f-1";
    struct outcome_artifact artifacts[] = {{.kind = ENTRY_FILE,
                                               .mode = 04755,
                                               .size = 5,
                                               .type = ARTIFACT_PNG,
                                               .exported = same,
                                               .name = plain,
                                               .name_bytes = 6},
        {.kind = ENTRY_DIR, .exported = other, .name = broken, .name_bytes = 3},
        {.kind = ENTRY_SKIPPED, .reason = "symlink", .name = control, .name_bytes = 3},
        {.kind = ENTRY_SKIPPED,
            .reason = "type_mismatch",
            .type = ARTIFACT_TEXT,
            .name = bidi,
            .name_bytes = 4}};

    (void)state;
    text_list_add(&config.collect, "out");
    outcome.artifacts = artifacts;
    outcome.artifact_count = 4;
    outcome.has_extracted = outcome.extracted_due = true;
    outcome.extracted.status = EXTRACT_PARTIAL;
    outcome.extracted.skipped = 7;
    make();
    assert_int_equal(json_integer_value(at("artifacts.unlisted")), 5);
    assert_string_equal(json_string_value(at("artifacts.status")), "partial");
    assert_string_equal(json_string_value(at("artifacts.list.0.path")), "out/\xc3\xa9");
    assert_string_equal(json_string_value(at("artifacts.list.0.claimed_mode")), "4755");
    assert_string_equal(json_string_value(at("artifacts.list.1.path_base64")), "Yf9i");
    assert_string_equal(json_string_value(at("artifacts.list.1.exported")), "f-1");
    assert_null(json_object_get(at("artifacts.list.0"), "exported"));
    assert_string_equal(json_string_value(at("artifacts.list.0.type")), "png");
    assert_string_equal(json_string_value(at("artifacts.skipped.1.path_base64")), "YeKArg==");
    assert_string_equal(json_string_value(at("artifacts.skipped.1.type")), "text");
    assert_null(json_object_get(at("artifacts.skipped.0"), "type"));
    assert_string_equal(json_string_value(at("artifacts.manifest")), "manifest.json");
    assert_true(json_is_null(at("artifacts.bundle")) && json_is_null(at("artifacts.reason")));
    assert_string_equal(json_string_value(at("artifacts.skipped.0.path_base64")), "YQpi");
    assert_string_equal(json_string_value(at("artifacts.skipped.0.reason")), "symlink");
    /* Without room for a list all of it is counted. */
    artifacts_max = 0;
    make();
    assert_int_equal(json_integer_value(at("artifacts.unlisted")), 9);
    assert_int_equal(json_array_size(at("artifacts.list")), 0);
    artifacts_max = 1;
    make();
    assert_int_equal(json_integer_value(at("artifacts.unlisted")), 7);
    assert_int_equal(json_array_size(at("artifacts.skipped")), 1);
    /* What was refused is not there, so it is not listed. */
    outcome.extracted.status = EXTRACT_REFUSED;
    make();
    assert_string_equal(json_string_value(at("artifacts.status")), "refused");
    assert_int_equal(json_array_size(at("artifacts.list")), 0);
}

/* An extractor that was taken over writes it, and people look at it on a terminal. */
static void the_reason_of_an_extractor_steers_no_terminal(void **state)
{
    (void)state;
    text_list_add(&config.collect, "out");
    outcome.has_extracted = outcome.extracted_due = true;
    outcome.extracted.status = EXTRACT_REFUSED;
    strcpy(outcome.extracted.text, "caf\xc3\xa9 \\x0a \x1b[2J \xc2\x9b \xe2\x80\xae \xff\xc3");
    make();
    assert_string_equal(json_string_value(at("artifacts.reason")),
        "caf\xc3\xa9 \\x0a \\x1b[2J \\xc2\\x9b \\xe2\\x80\\xae \\xff\\xc3");
}

static void room_for_a_result_is_made_or_refused(void **state)
{
    AUTO_FD int fd = memfd_create("result", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat status;

    (void)state;
    assert_true(result_has_room(fd, "123"));
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 4); /* and a newline */
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_true(result_has_room(fd, "123"));
    assert_false(result_has_room(fd, "1234"));
}

static void the_end_of_the_machine_is_a_part_of_the_stop(void **state)
{
    (void)state;
    outcome.moments_ns[MOMENT_EXPORTED] = NS_PER_S;
    outcome.moments_ns[MOMENT_GONE] = 2 * NS_PER_S;
    make();
    assert_true(json_is_null(at("time.vm_teardown_ms")));
    outcome.moments_ns[MOMENT_ENDED] = NS_PER_S + NS_PER_S / 4;
    make();
    assert_true(json_real_value(at("time.stop_ms")) == 1000);
    assert_true(json_real_value(at("time.vm_teardown_ms")) == 750);
}

/* A run in which everything was said, seen and kept; tests/docs looks for every field in it. */
static void everything_at_once(void **state)
{
    uint8_t file[] = "out/chart.png", broken[] = "out/\xff", gone[] = "gone", dots[] = "out/..\n";
    char alias[] = "out/f-1";
    struct outcome_artifact artifacts[] = {
        {.kind = ENTRY_DIR, .mode = 0755, .name = file, .name_bytes = 3},
        {.kind = ENTRY_FILE, .mode = 0644, .size = 7, .name = file, .name_bytes = 13},
        {.kind = ENTRY_FILE, .mode = 0600, .exported = alias, .name = broken, .name_bytes = 5},
        {.kind = ENTRY_SKIPPED, .reason = "missing", .name = gone, .name_bytes = 4},
        {.kind = ENTRY_SKIPPED, .reason = "\x1b[", .name = dots, .name_bytes = 7},
        {.kind = ENTRY_SKIPPED, .reason = "type_mismatch", .name = gone, .name_bytes = 4}};

    (void)state;
    text_list_add(&config.collect, "out");
    plan.console = outcome.image_digest.known = true;
    outcome.image_digest.sha256[0] = 0xab;
    outcome.kernel_digest.changed = true;
    outcome.artifacts = artifacts;
    outcome.artifact_count = 6;
    config.artifacts_bundle = 1;
    outcome.has_extracted = outcome.extracted_due = true;
    outcome.extracted =
        (struct ipc_extracted){.status = EXTRACT_PARTIAL, .files = 2, .bytes = 7, .text = "some"};
    outcome.has_hello = outcome.has_started = outcome.has_exited = true;
    outcome.has_exported = outcome.has_ended = outcome.monitor_reaped = true;
    outcome.hello = (struct wire_hello){.cpu_count = 1, .memory_bytes = 1, .release = "6.1\xff"};
    outcome.started.controls = UINT64_MAX;
    outcome.monitor_own_rss_bytes = 1;
    outcome.jail_kind = JAIL_WEAK;
    outcome.jail_uid = 1000;
    outcome.jails[OUTCOME_JAIL_MONITOR] =
        (struct outcome_jail){.proven = true, .controls = JAIL_CONTROL_SECCOMP | JAIL_CONTROL_FDS};
    for (int i = 0; i < MOMENT_COUNT; i++)
        outcome.moments_ns[i] = (uint64_t)(i + 1) * NS_PER_MS;
    for (int i = 0; i < STREAM_COUNT; i++)
        outcome.has_totals[i] = true;
    verdict = (struct verdict){.status = "limit",
        .limit = "wall",
        .limits_hit = {"wall"},
        .limit_count = 1,
        .has_exit_code = true,
        .reason = "r",
        .code = 124};
    make();
    assert_true(strncmp(json_string_value(at("digests.image")), "ab00", 4) == 0);
    assert_true(json_is_null(at("digests.kernel")));
    assert_int_equal(json_array_size(at("digests.changed")), 1);
    assert_string_equal(json_string_value(at("digests.changed.0")), "kernel");
    assert_string_equal(json_string_value(at("versions.guest_kernel_claimed_base64")), "Ni4x/w==");
    assert_string_equal(json_string_value(at("streams.console.file")), "console");
    assert_int_equal(json_integer_value(at("artifacts.files")), 2);
    assert_int_equal(json_array_size(at("artifacts.list")), 3);
    assert_string_equal(json_string_value(at("artifacts.skipped.1.reason_base64")), "G1s=");
    assert_int_equal(json_array_size(at("controls_active.claimed_by_guest")), 10);
    assert_true(json_real_value(at("time.total_ms")) > 8.9);
    assert_string_equal(json_string_value(at("controls_active.jail.ground")), "weaker");
    assert_true(json_is_true(at("controls_active.jail.uid_is_shared")));
    assert_string_equal(json_string_value(at("controls_active.jail.monitor.0")), "exact_fds");
    assert_string_equal(json_string_value(at("controls_active.jail.monitor.1")), "seccomp");
    assert_true(json_is_null(at("controls_active.jail.scribe")));
    assert_int_equal(json_array_size(at("controls_active.jail.given_up")), 8);
    plan.console = false;
}

static void kinds_of_cgroups_are_told_apart(void **state)
{
    (void)state;
    outcome.jail_kind = JAIL_USER;
    outcome.cgroup = (struct outcome_cgroup){.kind = CGROUP_V1, .unused = "old"};
    make();
    assert_string_equal(json_string_value(at("controls_active.jail.cgroup.version")), "v1");
    assert_string_equal(json_string_value(at("controls_active.jail.cgroup.unused_because")), "old");
    assert_int_equal(json_object_size(at("controls_active.jail.cgroup")), 3);
    outcome.cgroup = (struct outcome_cgroup){.kind = CGROUP_NONE, .unused = "none here"};
    make();
    assert_string_equal(json_string_value(at("controls_active.jail.cgroup.version")), "none");
    outcome.cgroup =
        (struct outcome_cgroup){.kind = CGROUP_V2, .active = true, .limits = {4, 5, 6}};
    make();
    assert_string_equal(json_string_value(at("controls_active.jail.cgroup.version")), "v2");
    assert_true(json_is_null(at("controls_active.jail.cgroup.unused_because")));
    assert_int_equal(json_integer_value(at("controls_active.jail.cgroup.memory_max_bytes")), 4);
    assert_int_equal(json_integer_value(at("controls_active.jail.cgroup.pids_max")), 5);
    assert_int_equal(json_integer_value(at("controls_active.jail.cgroup.cpus_max")), 6);
}

static void the_file_appears_whole_and_once(void **state)
{
    char root[] = "/tmp/result_test.XXXXXX", read_back[8] = "";
    struct err err = ERR_INIT;
    AUTO_FD int fd = -1;
    AUTO_FD int file = -1;
    AUTO_FD int reserved = -1;
    struct stat status;

    (void)state;
    make();
    assert_non_null(mkdtemp(root));
    fd = open(root, O_RDONLY | O_DIRECTORY);
    reserved = result_reserve(fd, "1", &err);
    assert_int_equal(fstat(reserved, &status), 0);
    assert_true(status.st_blocks * 512 >= 65536); /* a full disk does not matter any more */
    assert_int_equal(result_write(fd, reserved, "1", "{}", &err), 0);
    file = openat(fd, "result.json", O_RDONLY);
    assert_int_equal(read(file, read_back, sizeof(read_back)), 3);
    assert_string_equal(read_back, "{}\n");
    assert_int_equal(unlinkat(fd, "result.json", 0), 0);
    /* Nothing is written through a link that somebody planted. */
    assert_int_equal(symlinkat("/dev/null", fd, ".result.json.1.partial"), 0);
    assert_int_equal(result_reserve(fd, "1", &err), -1);
    assert_int_equal(unlinkat(fd, ".result.json.1.partial", 0), 0);
    assert_int_equal(rmdir(root), 0);
}

static void room_that_cannot_be_promised_is_taken(void **state)
{
    char path[] = "/tmp/result_test.XXXXXX";
    AUTO_FD int fd = open(mkdtemp(path), O_RDONLY | O_DIRECTORY);
    AUTO_FD int reserved = -1;
    struct err err = ERR_INIT;
    struct stat status;

    (void)state;
    room_cannot_be_promised = true;
    reserved = result_reserve(fd, "1", &err);
    assert_true(reserved >= 0);
    assert_int_equal(fstat(reserved, &status), 0);
    assert_true(status.st_size == 64 * 1024 && status.st_blocks * 512 >= 64 * 1024);
    assert_int_equal(result_write(fd, reserved, "1", "{}", &err), 0);
    assert_int_equal(fstat(reserved, &status), 0);
    assert_int_equal(status.st_size, 3);
    unlinkat(fd, "result.json", 0);
    rmdir(path);
    fd_close(&reserved);
    reserved = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_false(result_has_room(reserved, "123"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(fields_are_null_when_nothing_happened, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_verdict_comes_with_its_numbers, set_up, tear_down),
    cmocka_unit_test_setup_teardown(room_that_cannot_be_promised_is_taken, set_up, tear_down),
    cmocka_unit_test_setup_teardown(names_from_the_guest_are_text_or_base64, set_up, tear_down),
    cmocka_unit_test_setup_teardown(
        the_reason_of_an_extractor_steers_no_terminal, set_up, tear_down),
    cmocka_unit_test_setup_teardown(room_for_a_result_is_made_or_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(
        the_end_of_the_machine_is_a_part_of_the_stop, set_up, tear_down),
    cmocka_unit_test_setup_teardown(everything_at_once, set_up, tear_down),
    cmocka_unit_test_setup_teardown(kinds_of_cgroups_are_told_apart, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_file_appears_whole_and_once, set_up, tear_down),
};

UNIT_MAIN(tests)
