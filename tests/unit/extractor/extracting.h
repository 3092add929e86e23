/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extracting.h: an archive that a test builds, extracted into a fresh directory; what came of it is
 * in RESULT and ENTRIES.
 */
#ifndef TESTS_UNIT_EXTRACTOR_EXTRACTING_H
#define TESTS_UNIT_EXTRACTOR_EXTRACTING_H

#include "extractor/extract.h"
#include "tests/unit/extractor/archive_build.h"
#include "tests/unit/extractor/out_dir.h"

enum { ENTRIES_KEPT = 64 };

static struct build build;
static struct out_dir out;
static struct ipc_extract limits;
static struct ipc_extracted result;
static struct ipc_entry entries[ENTRIES_KEPT];
static uint64_t entry_count;

static inline int set_up(void **state)
{
    (void)state;
    build_begin(&build);
    out_dir_make(&out);
    limits = (struct ipc_extract){
        .max_total_bytes = 1 << 20, .max_file_bytes = 1 << 19, .max_files = 100, .max_depth = 32};
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    build_free(&build);
    out_dir_remove(&out);
    return 0;
}

static inline void restart(void)
{
    tear_down(NULL);
    set_up(NULL);
}

static inline int keep_entry(void *context, const struct ipc_entry *entry, struct err *err)
{
    (void)context, (void)err;
    if (entry_count < ENTRIES_KEPT)
        entries[entry_count] = *entry;
    entry_count++;
    return 0;
}

static inline enum ipc_extract_status extract(void)
{
    const struct extract_sink sink = {.entry = keep_entry};
    struct archive_source source = build_source(&build);

    entry_count = 0;
    memset(entries, 0xee, sizeof(entries));
    extract_archive(&source, &limits, out.fd, &sink, &result);
    return (enum ipc_extract_status)result.status;
}

static inline enum ipc_extract_status end_and_extract(void)
{
    build_end(&build);
    return extract();
}

static inline void expect_entry(
    size_t i, enum ipc_entry_kind kind, const char *name, uint64_t size, const char *reason)
{
    assert_true(i < entry_count && i < ENTRIES_KEPT);
    assert_int_equal(entries[i].kind, kind);
    assert_int_equal(entries[i].name_bytes, strlen(name));
    assert_memory_equal(entries[i].name, name, strlen(name));
    assert_true(entries[i].size == size);
    assert_string_equal(entries[i].reason, reason);
    if (kind == ENTRY_SKIPPED)
        assert_string_equal(entries[i].exported, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
