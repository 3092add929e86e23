/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fdopen */
/* artifacts_test.c: what was reported against what was asked for, and the manifest of it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/artifacts.h"
#include "supervisor/manifest.h"
#include "tests/unit/unit.h"

enum { ENTRIES_MAX = 8 };

static struct config config;
static struct plan plan = {.config = &config, .run_id = "run-1"};
static struct outcome outcome;
static struct outcome_artifact entries[ENTRIES_MAX];
static char name[] = "t";
static char directory[] = "/tmp/vmrun-unit-XXXXXX";
static int output_fd = -1;
static json_t *manifest;

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    output_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    config = (struct config){.name = name};
    text_list_add(&config.collect, "out/*.txt");
    text_list_add(&config.collect, "maybe");
    outcome = (struct outcome){.artifacts = entries, .has_extracted = true, .extracted_due = true};
    outcome.extracted.status = EXTRACT_COMPLETE;
    return 0;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", directory);

    (void)state;
    json_decref(manifest);
    manifest = NULL;
    for (size_t i = 0; i < outcome.artifact_count; i++) {
        free(entries[i].name);
        free(entries[i].exported);
    }
    text_list_free(&config.collect);
    text_list_free(&config.optional);
    fd_close(&output_fd);
    return system(command);
}

static void add(enum ipc_entry_kind kind, const char *path, const char *other)
{
    struct outcome_artifact *entry = &entries[outcome.artifact_count++];

    *entry = (struct outcome_artifact){.kind = kind,
        .mode = 0644,
        .name = (uint8_t *)strdup(path),
        .name_bytes = strlen(path),
        .exported = kind == ENTRY_SKIPPED ? NULL : strdup(other ? other : path)};
    if (kind == ENTRY_SKIPPED) {
        strcpy(entry->reason, other);
        outcome.extracted.skipped++;
        outcome.extracted.status = EXTRACT_PARTIAL;
    } else if (kind == ENTRY_FILE) {
        entry->type = ARTIFACT_TEXT;
        outcome.extracted.files++;
    }
}

static void judged(enum ipc_extract_status status, const char *text)
{
    artifacts_judge(&config, &outcome);
    assert_int_equal(outcome.extracted.status, status);
    assert_string_equal(outcome.extracted.text, text);
}

static void what_was_asked_for(void **state)
{
    (void)state;
    add(ENTRY_DIR, "out", NULL);
    add(ENTRY_FILE, "out/a.txt", NULL);
    add(ENTRY_DIR, "out/d.txt", NULL);
    add(ENTRY_FILE, "out/d.txt/below", NULL);
    judged(EXTRACT_COMPLETE, "");
    assert_true(artifacts_have(&outcome, "out/a.txt") && artifacts_have(&outcome, "o*"));
    assert_false(artifacts_have(&outcome, "maybe"));
}

static void what_nobody_asked_for(void **state)
{
    static const struct {
        enum ipc_entry_kind kind;
        const char *path, *text;
    } cases[] = {
        {ENTRY_FILE, "out/a.bin", "the archive holds \"out/a.bin\", which was not asked for"},
        {ENTRY_FILE, "out", "the archive holds \"out\", which was not asked for"},
        {ENTRY_DIR, "other\n", "the archive holds \"other\\n\", which was not asked for"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add(cases[i].kind, cases[i].path, NULL);
        judged(EXTRACT_REFUSED, cases[i].text);
        tear_down(state);
        set_up(state);
    }
}

static void violations_and_what_may_be_missing(void **state)
{
    add(ENTRY_SKIPPED, "maybe", "missing");
    judged(EXTRACT_PARTIAL, "");
    text_list_add(&config.optional, "maybe");
    judged(EXTRACT_COMPLETE, "");
    config.artifacts_refuse = 1;
    judged(EXTRACT_COMPLETE, "");
    add(ENTRY_SKIPPED, "out/\x1b.txt", "symlink");
    config.artifacts_refuse = 0;
    judged(EXTRACT_PARTIAL, "");
    config.artifacts_refuse = 1;
    judged(EXTRACT_REFUSED, "\"out/\\x1b.txt\": symlink; on_violation is refuse");
    tear_down(state);
    set_up(state);
    text_list_add(&config.optional, "maybe");
    add(ENTRY_SKIPPED, "maybe", "fifo"); /* there, and not what it should be */
    judged(EXTRACT_PARTIAL, "");
    tear_down(state);
    set_up(state);
    outcome.extracted.status = EXTRACT_PARTIAL; /* too many to be listed */
    outcome.extracted.skipped = 1;
    config.artifacts_refuse = 1;
    judged(EXTRACT_REFUSED, "");
}

static void what_the_extractor_refused_stays(void **state)
{
    (void)state;
    outcome.extracted.status = EXTRACT_REFUSED;
    strcpy(outcome.extracted.text, "a rule");
    add(ENTRY_FILE, "out/a.bin", NULL);
    judged(EXTRACT_REFUSED, "a rule");
}

static void write_manifest(void)
{
    static unsigned count;
    AUTO_FREE char *from = text_format("%s/" MANIFEST_NAME, directory);
    AUTO_FREE char *copy = text_format("mkdir -p build/results/unit-manifests && cp %s "
                                       "build/results/unit-manifests/%u.json",
        from, ++count);
    struct err err = ERR_INIT;

    assert_int_equal(manifest_write(output_fd, &plan, &outcome, &err), 0);
    assert_int_equal(system(copy), 0);
    json_decref(manifest);
    manifest = json_load_file(from, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(manifest);
    assert_int_equal(unlinkat(output_fd, MANIFEST_NAME, 0), 0);
}

static json_t *entry_at(const char *list, size_t i, const char *key)
{
    json_t *value = json_object_get(json_array_get(json_object_get(manifest, list), i), key);

    if (!value)
        fail_msg("no %s in entry %zu of %s", key, i, list);
    return value;
}

static void expect_text(const char *list, size_t i, const char *key, const char *right)
{
    assert_string_equal(json_string_value(entry_at(list, i, key)), right);
}

static void a_manifest_has_everything(void **state)
{
    (void)state;
    add(ENTRY_DIR, "out", NULL);
    add(ENTRY_FILE, "out/\xff.txt", "out/f-1");
    add(ENTRY_FILE, "out/con.txt", NULL);
    add(ENTRY_SKIPPED, "maybe", "missing");
    add(ENTRY_SKIPPED, "out/\n.txt", "type_mismatch");
    add(ENTRY_SKIPPED, "out/x", "\x1b");
    entries[1].mode = 04755;
    outcome.has_exported = true;
    outcome.exported.skipped = 10;
    config.artifacts_bundle = 1;
    strcpy(outcome.extracted.text, "7 skipped entries are not listed");
    write_manifest();
    expect_text("entries", 0, "kind", "directory");
    expect_text("entries", 1, "path_base64", "b3V0L/8udHh0");
    expect_text("entries", 1, "exported", "out/f-1");
    expect_text("entries", 1, "claimed_mode", "4755");
    expect_text("entries", 1, "type", "text");
    assert_true(json_is_true(entry_at("entries", 1, "portable")));
    assert_true(json_is_false(entry_at("entries", 2, "portable")));
    expect_text("skipped", 0, "reason", "missing");
    expect_text("skipped", 1, "path_base64", "b3V0LwoudHh0");
    expect_text("skipped", 1, "type", "data");
    expect_text("skipped", 2, "reason_base64", "Gw==");
    assert_int_equal(json_integer_value(json_object_get(manifest, "unlisted")), 7);
    assert_true(json_is_object(json_object_get(manifest, "bundle")));
    outcome.extracted.status = EXTRACT_REFUSED;
    write_manifest();
    assert_int_equal(json_array_size(json_object_get(manifest, "entries")), 0);
    assert_int_equal(json_array_size(json_object_get(manifest, "skipped")), 3);
    assert_true(json_is_null(json_object_get(manifest, "bundle")));
    outcome.has_extracted = outcome.extracted_due = false;
    write_manifest();
    assert_string_equal(json_string_value(json_object_get(manifest, "status")), "not_exported");
}

static void a_manifest_replaces_nothing(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdirat(output_fd, MANIFEST_NAME, 0755), 0);
    assert_int_equal(manifest_write(output_fd, &plan, &outcome, &err), -1);
    assert_int_equal(err.errnum, EEXIST);
    assert_int_equal(faccessat(output_fd, ".manifest.json.run-1.partial", F_OK, 0), -1);
}

static bool fdopen_fails;

FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);

FILE *__wrap_fdopen(int fd, const char *mode)
{
    errno = ENOMEM;
    return fdopen_fails ? NULL : __real_fdopen(fd, mode);
}

static void a_manifest_that_cannot_be_written_is_not_left(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    fdopen_fails = true;
    assert_int_equal(manifest_write(output_fd, &plan, &outcome, &err), -1);
    fdopen_fails = false;
    assert_int_equal(err.errnum, ENOMEM);
    assert_int_equal(faccessat(output_fd, ".manifest.json.run-1.partial", F_OK, 0), -1);
}

static void names_that_go_elsewhere(void **state)
{
    static const char *const good[] = {
        "a", "out/b.txt", "console", "com0", "COM10.x", "a b", "n.ul"};
    static const char *const bad[] = {"con", "out/NUL.txt", "aux/x", "lpt9", "Com1.a.b", "a:b",
        "x.", "a /b", "a\\b", "what?", "a*", "\"q\"", "<", "|"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(manifest_is_portable(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(manifest_is_portable(bad[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    TEST(what_was_asked_for),
    TEST(what_nobody_asked_for),
    TEST(violations_and_what_may_be_missing),
    TEST(what_the_extractor_refused_stays),
    TEST(a_manifest_has_everything),
    TEST(a_manifest_replaces_nothing),
    TEST(a_manifest_that_cannot_be_written_is_not_left),
    TEST(names_that_go_elsewhere),
};

UNIT_MAIN(tests)
