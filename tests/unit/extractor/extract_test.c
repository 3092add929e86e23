/* SPDX-License-Identifier: Apache-2.0 */
/* extract_test.c: from an archive to files, entries and a verdict; caps at and past them. */
#include <errno.h>

#include "extractor/tree.h"
#include "tests/unit/extractor/extracting.h"

static void refused(const char *rule)
{
    assert_int_equal(end_and_extract(), EXTRACT_REFUSED);
    if (!strstr(result.text, rule))
        fail_msg("\"%s\" does not say \"%s\"", result.text, rule);
    restart();
}

static void a_tree_comes_out_as_it_was(void **state)
{
    static const uint8_t hello_sha256[4] = {0x2c, 0xf2, 0x4d, 0xba};

    (void)state;
    build_dir(&build, "out");
    build_dir(&build, "out/empty");
    build_text_file(&build, "out/a.txt", "hello");
    build_file(&build, "out/run", 04711, 3);
    build_extent(&build, 0, "#!x", 3);
    build_file(&build, "out/secret", 0, 0);
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    assert_string_equal(result.text, "");
    assert_true(result.files == 3 && result.bytes == 8 && result.skipped == 0);
    assert_int_equal(entry_count, 5);
    expect_entry(0, ENTRY_DIR, "out", 0, "");
    expect_entry(1, ENTRY_DIR, "out/empty", 0, "");
    expect_entry(2, ENTRY_FILE, "out/a.txt", 5, "");
    expect_entry(3, ENTRY_FILE, "out/run", 3, "");
    expect_entry(4, ENTRY_FILE, "out/secret", 0, "");
    assert_memory_equal(entries[2].sha256, hello_sha256, 4);
    assert_int_equal(entries[3].mode, 04711); /* the claim; the file gets 0755 */
    out_dir_expect_dir(&out, "out/empty");
    out_dir_expect_file(&out, "out/a.txt", 0644, "hello", 5);
    out_dir_expect_file(&out, "out/run", 0755, "#!x", 3);
    out_dir_expect_file(&out, "out/secret", 0644, "", 0);
    assert_int_equal(out_dir_count(&out), 5);
}

static void nothing_to_export_is_complete(void **state)
{
    (void)state;
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    assert_int_equal(entry_count, 0);
    assert_int_equal(out_dir_count(&out), 0);
}

static void what_the_agent_skipped_is_passed_on(void **state)
{
    (void)state;
    build_skipped(&build, "/etc/../\x1b", ARCHIVE_SKIP_SYMLINK); /* opaque: nothing is created */
    build_skipped(&build, "gone", ARCHIVE_SKIP_MISSING);
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.skipped == 2 && result.files == 0);
    expect_entry(0, ENTRY_SKIPPED, "/etc/../\x1b", 0, "symlink");
    expect_entry(1, ENTRY_SKIPPED, "gone", 0, "missing");
    assert_int_equal(out_dir_count(&out), 0);
}

static void a_file_that_is_taken_back_is_gone(void **state)
{
    (void)state;
    build_dir(&build, "out");
    build_file(&build, "out/half", 0644, 10);
    build_extent(&build, 0, "12345", 5);
    build_skipped(&build, "out/half", ARCHIVE_SKIP_UNREADABLE);
    build_text_file(&build, "out/whole", "x");
    build_skipped(&build, "out/other", ARCHIVE_SKIP_UNREADABLE); /* another name: nothing to undo */
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.files == 1 && result.bytes == 1 && result.skipped == 2);
    expect_entry(0, ENTRY_DIR, "out", 0, "");
    expect_entry(1, ENTRY_SKIPPED, "out/half", 0, "unreadable");
    expect_entry(2, ENTRY_FILE, "out/whole", 1, "");
    expect_entry(3, ENTRY_SKIPPED, "out/other", 0, "unreadable");
    out_dir_expect_file(&out, "out/whole", 0644, "x", 1);
    assert_int_equal(out_dir_count(&out), 2);
}

static void names_that_break_a_rule_refuse_the_archive(void **state)
{
    (void)state;
    build_text_file(&build, "../x", "x");
    refused("\"..\" component");
    build_text_file(&build, "/x", "x");
    refused("absolute");
    build_dir(&build, "a/");
    refused("empty component");
    build_text_file(&build, "a/x", "x");
    refused("not declared");
    build_text_file(&build, "a", "x");
    build_text_file(&build, "a", "y");
    refused("twice");
    build_text_file(&build, "a", "x");
    build_dir(&build, "a");
    refused("twice");
    build_dir(&build, "a");
    build_text_file(&build, "a", "x");
    refused("twice");
    build_text_file(&build, "a", "x");
    build_text_file(&build, "a/b", "x");
    refused("not declared");
}

static void a_directory_may_be_declared_again(void **state)
{
    (void)state;
    build_dir(&build, "a");
    build_text_file(&build, "a/1", "x");
    build_dir(&build, "a");
    build_text_file(&build, "a/2", "y");
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    assert_int_equal(entry_count, 3);
}

static void odd_names_are_exported_under_others(void **state)
{
    (void)state;
    build_dir(&build, "d\n");
    build_text_file(&build, "d\n/x", "one");
    build_text_file(&build, "Case", "two");
    build_text_file(&build, "case", "three");
    build_text_file(&build, "f-2", "four");
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    expect_entry(0, ENTRY_DIR, "d\n", 0, "");
    assert_string_equal(entries[0].exported, "f-1");
    expect_entry(1, ENTRY_FILE, "d\n/x", 3, "");
    assert_string_equal(entries[1].exported, "f-1/x");
    assert_string_equal(entries[3].exported, "f-2");
    assert_string_equal(entries[4].exported, "f-3");
    out_dir_expect_file(&out, "f-1/x", 0644, "one", 3);
    out_dir_expect_file(&out, "Case", 0644, "two", 3);
    out_dir_expect_file(&out, "f-2", 0644, "three", 5);
    out_dir_expect_file(&out, "f-3", 0644, "four", 4);
}

static void sparse_files_stay_sparse_and_count_whole(void **state)
{
    static uint8_t right[1 << 19];
    struct stat info;

    (void)state;
    memcpy(right + 4096, "abc", 3);
    build_file(&build, "s", 0644, 1 << 19);
    build_extent(&build, 4096, "abc", 3);
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    assert_true(result.bytes == 1 << 19);
    out_dir_expect_file(&out, "s", 0644, right, sizeof(right));
    assert_int_equal(fstatat(out.fd, "s", &info, 0), 0);
    assert_true(info.st_blocks * 512 < 1 << 16);
}

/* A file past a cap is left out with its content; what comes after it is still exported. */
static void sizes_inside_at_and_past_their_cap(void **state)
{
    (void)state;
    limits.max_file_bytes = 4;
    limits.max_total_bytes = 10;
    build_text_file(&build, "a", "1234");
    build_text_file(&build, "b", "12345");
    build_text_file(&build, "c", "123");
    build_text_file(&build, "d", "1234");
    build_text_file(&build, "e", "123");
    build_text_file(&build, "f", "1");
    build_file(&build, "huge", 0644, UINT64_MAX);
    build_text_file(&build, "g", "");
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.files == 4 && result.bytes == 10 && result.skipped == 4);
    expect_entry(0, ENTRY_FILE, "a", 4, "");
    expect_entry(1, ENTRY_SKIPPED, "b", 0, "file_too_big");
    expect_entry(2, ENTRY_FILE, "c", 3, "");
    expect_entry(3, ENTRY_SKIPPED, "d", 0, "total_too_big");
    expect_entry(4, ENTRY_FILE, "e", 3, ""); /* exactly at the cap */
    expect_entry(5, ENTRY_SKIPPED, "f", 0, "total_too_big");
    expect_entry(6, ENTRY_SKIPPED, "huge", 0, "file_too_big");
    expect_entry(7, ENTRY_FILE, "g", 0, "");
    assert_int_equal(out_dir_count(&out), 4);
}

static void counts_inside_at_and_past_their_cap(void **state)
{
    (void)state;
    limits.max_files = 3;
    build_dir(&build, "d");
    build_text_file(&build, "d/1", "x");
    build_dir(&build, "e");
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    restart();
    limits.max_files = 3;
    build_dir(&build, "d");
    build_text_file(&build, "d/1", "x");
    build_dir(&build, "e");
    build_dir(&build, "late");
    build_text_file(&build, "late/1", "x"); /* its directory was left out */
    build_text_file(&build, "d/2", "x");
    build_dir(&build, "d"); /* is there: no new entry */
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.skipped == 3 && entry_count == 6);
    expect_entry(3, ENTRY_SKIPPED, "late", 0, "too_many_files");
    expect_entry(4, ENTRY_SKIPPED, "late/1", 0, "too_many_files");
    assert_int_equal(out_dir_count(&out), 3);
    restart();
    limits.max_files = 0;
    build_text_file(&build, "x", "x");
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_int_equal(out_dir_count(&out), 0);
    restart();
    limits.max_files = TREE_ENTRIES_MAX;
    assert_int_equal(end_and_extract(), EXTRACT_COMPLETE);
    limits.max_files = TREE_ENTRIES_MAX + 1;
    assert_int_equal(extract(), EXTRACT_FAILED);
}

static void deep_and_long_names_are_left_out(void **state)
{
    char long_name[NAME_COMPONENT_MAX_BYTES + 3];

    (void)state;
    limits.max_depth = 2;
    memset(long_name, 'x', sizeof(long_name));
    long_name[NAME_COMPONENT_MAX_BYTES + 1] = '\0';
    build_dir(&build, "a");
    build_dir(&build, "a/b");
    build_dir(&build, "a/b/c");
    build_text_file(&build, "a/b/c/d", "x");
    build_dir(&build, long_name);
    long_name[NAME_COMPONENT_MAX_BYTES] = '\0';
    build_text_file(&build, long_name, "x");
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    expect_entry(2, ENTRY_SKIPPED, "a/b/c", 0, "too_deep");
    expect_entry(3, ENTRY_SKIPPED, "a/b/c/d", 0, "too_deep");
    assert_string_equal(entries[4].reason, "name_too_long");
    expect_entry(5, ENTRY_FILE, long_name, 1, "");
    assert_int_equal(out_dir_count(&out), 3);
}

/* However many entries are skipped, the supervisor hears of at most max_files of them. */
static void the_list_of_skipped_is_bounded(void **state)
{
    (void)state;
    limits.max_files = 10;
    for (int i = 0; i < 10; i++)
        build_skipped(&build, "s", ARCHIVE_SKIP_FIFO);
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(entry_count == 10 && result.skipped == 10);
    assert_string_equal(result.text, "");
    restart();
    limits.max_files = 10;
    for (int i = 0; i < 15; i++)
        build_skipped(&build, "s", ARCHIVE_SKIP_FIFO);
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(entry_count == 10 && result.skipped == 15);
    assert_string_equal(result.text, "5 skipped entries are not listed");
}

static void more_names_than_are_looked_at(void **state)
{
    (void)state;
    for (int i = 0; i < EXTRACT_NAMES_MAX - 1; i++)
        build_skipped(&build, "s", ARCHIVE_SKIP_FIFO);
    build_text_file(&build, "last", "x");
    assert_int_equal(end_and_extract(), EXTRACT_PARTIAL);
    assert_true(result.files == 1);
    assert_null(strstr(result.text, "not looked at"));
    build.size -= ARCHIVE_RECORD_BYTES;
    build_text_file(&build, "one-more", "x");
    out_dir_remove(&out);
    out_dir_make(&out);
    assert_int_equal(extract(), EXTRACT_PARTIAL);
    assert_non_null(strstr(result.text, "not looked at"));
    assert_int_equal(out_dir_count(&out), 1);
}

static void broken_archives_are_refused(void **state)
{
    static const uint8_t zeros[4096];

    (void)state;
    build.size = 0;
    assert_int_equal(extract(), EXTRACT_REFUSED);
    build_bytes(&build, zeros, sizeof(zeros));
    assert_int_equal(extract(), EXTRACT_REFUSED);
    restart();
    build_text_file(&build, "a", "x");
    assert_int_equal(extract(), EXTRACT_REFUSED); /* no end */
    assert_true(result.files == 0);
    restart();
    build_file(&build, "a", 0644, 1);
    build_extent(&build, 1, "x", 1);
    refused("past the end of its file");
}

static int failing_read(void *context, void *buffer, size_t size, uint64_t offset, struct err *err)
{
    (void)context, (void)buffer, (void)size, (void)offset;
    errno = EIO;
    return err_sys(err, "cannot read the export disk");
}

static int failing_entry(void *context, const struct ipc_entry *entry, struct err *err)
{
    (void)context, (void)entry;
    errno = EPIPE;
    return err_sys(err, "cannot send record 31");
}

static void faults_of_the_host_are_not_the_archives(void **state)
{
    struct archive_source source = {.read = failing_read, .size_bytes = 4096};
    struct extract_sink sink = {.entry = keep_entry};

    (void)state;
    extract_archive(&source, &limits, out.fd, &sink, &result);
    assert_int_equal(result.status, EXTRACT_FAILED);
    build_dir(&build, "a");
    build_end(&build);
    assert_int_equal(mkdirat(out.fd, "a", 0755), 0); /* not the empty directory it should be */
    assert_int_equal(extract(), EXTRACT_FAILED);
    assert_non_null(strstr(result.text, "File exists"));
    source = build_source(&build);
    sink.entry = failing_entry;
    assert_int_equal(unlinkat(out.fd, "a", AT_REMOVEDIR), 0);
    extract_archive(&source, &limits, out.fd, &sink, &result);
    assert_int_equal(result.status, EXTRACT_FAILED);
}

static const struct CMUnitTest tests[] = {
    TEST(a_tree_comes_out_as_it_was),
    TEST(nothing_to_export_is_complete),
    TEST(what_the_agent_skipped_is_passed_on),
    TEST(a_file_that_is_taken_back_is_gone),
    TEST(names_that_break_a_rule_refuse_the_archive),
    TEST(a_directory_may_be_declared_again),
    TEST(odd_names_are_exported_under_others),
    TEST(sparse_files_stay_sparse_and_count_whole),
    TEST(sizes_inside_at_and_past_their_cap),
    TEST(counts_inside_at_and_past_their_cap),
    TEST(deep_and_long_names_are_left_out),
    TEST(the_list_of_skipped_is_bounded),
    TEST(more_names_than_are_looked_at),
    TEST(broken_archives_are_refused),
    TEST(faults_of_the_host_are_not_the_archives),
};

UNIT_MAIN(tests)
