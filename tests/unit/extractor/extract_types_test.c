/* SPDX-License-Identifier: Apache-2.0 */
/* extract_types_test.c: types and bundles; what is dropped again. */
#include "extractor/tree.h"
#include "tests/unit/extractor/extracting.h"

#define BIT(type) (1U << ARTIFACT_##type)

static void what_is_of_another_type_is_dropped(void **state)
{
    (void)state;
    limits.types = BIT(TEXT) | BIT(JSON);
    build_text_file(&build, "a.txt", "text");
    build_text_file(&build, "a.png", "text");
    build_text_file(&build, "a.json", "{]");
    build_text_file(&build, "b.json", "{}");
    build_text_file(&build, "\x1b", "\x1b");
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.files == 2 && result.bytes == 6 && result.skipped == 3);
    expect_entry(0, ENTRY_FILE, "a.txt", 4, "");
    expect_entry(1, ENTRY_SKIPPED, "a.png", 0, "type_mismatch");
    expect_entry(2, ENTRY_SKIPPED, "a.json", 0, "type_mismatch");
    expect_entry(3, ENTRY_FILE, "b.json", 2, "");
    expect_entry(4, ENTRY_SKIPPED, "\x1b", 0, "type_mismatch");
    assert_int_equal(entries[0].type, ARTIFACT_TEXT);
    assert_int_equal(entries[1].type, ARTIFACT_TEXT);
    assert_int_equal(entries[3].type, ARTIFACT_JSON);
    assert_int_equal(entries[4].type, ARTIFACT_DATA);
    assert_int_equal(out_dir_count(&out), 2);
}

static void holes_are_looked_at_too(void **state)
{
    (void)state;
    limits.types = BIT(TEXT);
    build_file(&build, "front", 0644, 4);
    build_extent(&build, 1, "abc", 3);
    build_file(&build, "end", 0644, 4);
    build_extent(&build, 0, "abc", 3);
    build_file(&build, "none", 0644, 3);
    build_extent(&build, 0, "abc", 3);
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    expect_entry(0, ENTRY_SKIPPED, "front", 0, "type_mismatch");
    expect_entry(1, ENTRY_SKIPPED, "end", 0, "type_mismatch");
    expect_entry(2, ENTRY_FILE, "none", 3, "");
}

/* Bytes of dropped files come back, but not for ever. */
static void what_is_dropped_is_bounded(void **state)
{
    (void)state;
    limits.types = BIT(PNG);
    limits.max_total_bytes = 10;
    for (int i = 0; i < 6; i++) {
        char name[2] = {(char)('a' + i), '\0'};

        build_text_file(&build, name, "12345");
    }
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    expect_entry(3, ENTRY_SKIPPED, "d", 0, "type_mismatch"); /* twice the cap */
    expect_entry(4, ENTRY_SKIPPED, "e", 0, "total_too_big");
    expect_entry(5, ENTRY_SKIPPED, "f", 0, "total_too_big");
    assert_int_equal(out_dir_count(&out), 0);
}

/* A file that was left out and then taken back is one that was left out, once. */
static void a_skipped_file_is_skipped_once(void **state)
{
    (void)state;
    limits.max_file_bytes = 3;
    build_text_file(&build, "big", "1234");
    build_skipped(&build, "big", ARCHIVE_SKIP_UNREADABLE);
    build_skipped(&build, "big", ARCHIVE_SKIP_UNREADABLE); /* now it is another entry */
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.skipped == 2 && entry_count == 2);
    expect_entry(0, ENTRY_SKIPPED, "big", 0, "file_too_big");
    expect_entry(1, ENTRY_SKIPPED, "big", 0, "unreadable");
}

static void a_bundle_is_the_only_file(void **state)
{
    (void)state;
    limits.bundle = true;
    limits.types = BIT(TEXT);
    build_dir(&build, "d");
    build_text_file(&build, "d/A", "one");
    build_text_file(&build, "d/a", "two");
    build_text_file(&build, "d/no", "\x01");
    build_file(&build, "d/gone", 0644, 10);
    build_extent(&build, 0, "12345", 5);
    build_skipped(&build, "d/gone", ARCHIVE_SKIP_UNREADABLE);
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    expect_entry(0, ENTRY_DIR, "d", 0, "");
    assert_string_equal(entries[2].exported, "d/f-1");
    expect_entry(3, ENTRY_SKIPPED, "d/no", 0, "type_mismatch");
    expect_entry(4, ENTRY_SKIPPED, "d/gone", 0, "unreadable");
    assert_int_equal(out_dir_count(&out), 1);
    assert_int_equal(faccessat(out.fd, BUNDLE_NAME, F_OK, 0), 0);
    assert_true(result.bundle_bytes > 100 && result.files == 2 && result.bytes == 6);
    restart();
    limits.bundle = true;
    build_text_file(&build, "a", "x"); /* no end */
    assert_int_equal(extract(), EXTRACT_REFUSED);
    assert_true(result.bundle_bytes == 0);
}

static const struct CMUnitTest tests[] = {
    TEST(what_is_of_another_type_is_dropped),
    TEST(holes_are_looked_at_too),
    TEST(what_is_dropped_is_bounded),
    TEST(a_skipped_file_is_skipped_once),
    TEST(a_bundle_is_the_only_file),
};

UNIT_MAIN(tests)
