/* SPDX-License-Identifier: Apache-2.0 */
/* reader_test.c: the format of an archive: what a good one gives, and every way to break one. */
#include <errno.h>

#include "tests/unit/extractor/archive_build.h"

static struct archive_reader reader;
static struct build build;
static struct archive_source source;
static struct err err;
static struct item item;

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    build_begin(&build);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    build_free(&build);
    return 0;
}

static void restart(void)
{
    build_free(&build);
    build_begin(&build);
}

static int open_reader(void)
{
    source = build_source(&build);
    err = (struct err)ERR_INIT;
    return archive_reader_init(&reader, &source, &err);
}

static enum item_kind next(void)
{
    assert_int_equal(archive_reader_next(&reader, &item, &err), 0);
    return item.kind;
}

/* Read to the end: 0 when the archive is whole, -1 with a rule in `err`. */
static int read_all(void)
{
    if (open_reader() < 0)
        return -1;
    do {
        if (archive_reader_next(&reader, &item, &err) < 0)
            return -1;
    } while (item.kind != ITEM_END);
    return 0;
}

static void refused(const char *rule)
{
    assert_int_equal(read_all(), -1);
    assert_int_equal(err.errnum, 0);
    if (!strstr(err.text, rule))
        fail_msg("\"%s\" does not say \"%s\"", err.text, rule);
}

static void items_come_as_they_are(void **state)
{
    (void)state;
    build_dir(&build, "d");
    build_file(&build, "d/f", 04751, 100);
    build_extent(&build, 10, "hello", 5);
    build_extent(&build, 15, "world", 5);
    build_extent(&build, 99, "!", 1);
    build_skipped(&build, "link", ARCHIVE_SKIP_SYMLINK);
    build_file(&build, "empty", 0, 0);
    build_end(&build);
    assert_int_equal(open_reader(), 0);
    assert_int_equal(next(), ITEM_DIR);
    assert_true(item.name_bytes == 1 && item.name[0] == 'd' && item.mode == 0755);
    assert_int_equal(next(), ITEM_FILE);
    assert_true(item.name_bytes == 3 && item.mode == 04751 && item.size_bytes == 100);
    assert_memory_equal(item.name, "d/f", 3);
    assert_int_equal(next(), ITEM_DATA);
    assert_true(item.offset_bytes == 10 && item.data_bytes == 5);
    assert_memory_equal(item.data, "hello", 5);
    assert_int_equal(next(), ITEM_DATA);
    assert_true(item.offset_bytes == 15 && item.data_bytes == 5);
    assert_int_equal(next(), ITEM_DATA);
    assert_true(item.offset_bytes == 99 && item.data[0] == '!');
    assert_int_equal(next(), ITEM_SKIPPED);
    assert_true(item.skip == ARCHIVE_SKIP_SYMLINK && item.name_bytes == 4);
    assert_int_equal(next(), ITEM_FILE);
    assert_true(item.size_bytes == 0);
    assert_int_equal(next(), ITEM_END);
}

static void what_follows_the_end_means_nothing(void **state)
{
    (void)state;
    build_end(&build);
    build_bytes(&build, "garbage", 7);
    build_dir(&build, "late");
    assert_int_equal(read_all(), 0);
}

/* Extents larger than the buffer come in pieces that fit together. */
static void large_extents(void **state)
{
    size_t size = 3 * READER_BUFFER_BYTES + 17;
    uint8_t *data = malloc(size);
    uint64_t at = 0;

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 2654435761U >> 9);
    build_file(&build, "big", 0644, size);
    build_extent(&build, 0, data, size);
    build_text_file(&build, "next", "text");
    build_end(&build);
    assert_int_equal(open_reader(), 0);
    assert_int_equal(next(), ITEM_FILE);
    while (at < size) {
        assert_int_equal(next(), ITEM_DATA);
        assert_true(item.offset_bytes == at);
        assert_memory_equal(item.data, data + at, item.data_bytes);
        at += item.data_bytes;
    }
    assert_int_equal(next(), ITEM_FILE);
    assert_int_equal(next(), ITEM_DATA);
    assert_int_equal(next(), ITEM_END);
    free(data);
}

static void skipped_data_is_checked_but_not_handed_out(void **state)
{
    size_t size = 2 * READER_BUFFER_BYTES;
    uint8_t *data = calloc(1, size);

    (void)state;
    assert_non_null(data);
    build_file(&build, "big", 0644, 2 * size);
    build_extent(&build, 0, data, size);
    build_extent(&build, size, data, size);
    build_text_file(&build, "next", "text");
    build_end(&build);
    assert_int_equal(open_reader(), 0);
    assert_int_equal(next(), ITEM_FILE);
    archive_reader_skip_data(&reader);
    assert_int_equal(next(), ITEM_FILE);
    assert_memory_equal(item.name, "next", 4);
    assert_int_equal(next(), ITEM_DATA); /* the next file is not skipped */
    assert_memory_equal(item.data, "text", 4);
    assert_int_equal(next(), ITEM_END);
    restart();
    build_file(&build, "bad", 0644, 10);
    build_extent(&build, 8, data, 3);
    build_end(&build);
    assert_int_equal(open_reader(), 0);
    assert_int_equal(next(), ITEM_FILE);
    archive_reader_skip_data(&reader);
    assert_int_equal(archive_reader_next(&reader, &item, &err), -1);
    free(data);
}

static void a_good_archive(void)
{
    build_dir(&build, "d");
    build_file(&build, "d/f", 0644, 10);
    build_extent(&build, 2, "abc", 3);
    build_extent(&build, 5, "de", 2);
    build_skipped(&build, "s", ARCHIVE_SKIP_FIFO);
    build_end(&build);
}

static void every_cut_is_refused(void **state)
{
    size_t whole;

    (void)state;
    a_good_archive();
    assert_int_equal(read_all(), 0);
    whole = build.size;
    for (build.size = 0; build.size < whole; build.size++) {
        assert_int_equal(read_all(), -1);
        assert_int_equal(err.errnum, 0);
    }
}

/* A disk is larger than its archive: what was not written is zero. */
static void every_cut_on_a_disk_of_zeros_is_refused(void **state)
{
    static const uint8_t zeros[4096];
    size_t whole;

    (void)state;
    a_good_archive();
    whole = build.size;
    build_bytes(&build, zeros, sizeof(zeros));
    assert_int_equal(read_all(), 0);
    /* What END has after its count is zero anyway: from there on every cut must be seen. */
    for (size_t cut = whole - 16; cut-- > 0;) {
        build.bytes[cut] = 0;
        if (cut <= whole - ARCHIVE_RECORD_BYTES)
            assert_int_equal(read_all(), -1);
    }
}

static void garbage_is_refused(void **state)
{
    uint8_t bytes[512];

    (void)state;
    build.size = 0;
    refused("ends before");
    memset(bytes, 0, sizeof(bytes));
    build_bytes(&build, bytes, sizeof(bytes));
    refused("does not begin with an archive");
    for (int round = 0; round < 2000; round++) {
        build.size = 0;
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rand();
        if (round % 2) /* a good header, then noise */
            archive_put_header(bytes);
        build_bytes(&build, bytes, sizeof(bytes));
        assert_int_equal(read_all(), -1);
    }
}

static void extents_obey_their_file(void **state)
{
    (void)state;
    build_extent(&build, 0, "x", 1);
    refused("follows no file");
    restart();
    build_dir(&build, "d");
    build_extent(&build, 0, "x", 1);
    refused("follows no file");
    restart();
    build_text_file(&build, "f", "x");
    build_skipped(&build, "s", ARCHIVE_SKIP_FIFO);
    build_extent(&build, 0, "x", 1);
    refused("follows no file");
    restart();
    build_file(&build, "f", 0, 10);
    build_extent(&build, 4, "abc", 3);
    build_extent(&build, 6, "x", 1);
    refused("overlaps or goes back");
    restart();
    build_file(&build, "f", 0, 10);
    build_extent(&build, 4, "abc", 3);
    build_extent(&build, 0, "x", 1);
    refused("overlaps or goes back");
}

static int read_extent_at(uint64_t file_size, uint64_t offset, uint64_t size, size_t there)
{
    static const uint8_t data[64];

    restart();
    build_file(&build, "f", 0, file_size);
    build_record(&build,
        (struct archive_record){.kind = ARCHIVE_EXTENT, .size = size, .offset = offset}, data,
        there);
    build_end(&build);
    return read_all();
}

static void extents_lie_inside(void **state)
{
    (void)state;
    assert_int_equal(read_extent_at(10, 0, 10, 10), 0);
    assert_int_equal(read_extent_at(10, 9, 1, 1), 0);
    assert_int_equal(read_extent_at(10, 9, 2, 2), -1);
    assert_int_equal(read_extent_at(10, 10, 1, 1), -1);
    assert_int_equal(read_extent_at(0, 0, 1, 1), -1);
    assert_int_equal(read_extent_at(UINT64_MAX, UINT64_MAX - 1, 1, 1), 0);
    assert_int_equal(read_extent_at(UINT64_MAX, UINT64_MAX, 1, 1), -1);
    assert_int_equal(read_extent_at(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, 8), -1);
    assert_int_equal(read_extent_at(UINT64_MAX, 0, UINT64_MAX, 8), -1); /* past the disk */
    assert_int_equal(read_extent_at(UINT64_MAX, 1ULL << 63, 1ULL << 63, 8), -1);
    assert_int_equal(read_extent_at(100, 0, 8 + ARCHIVE_RECORD_BYTES + 1, 8), -1);
    assert_non_null(strstr(err.text, "past the end of the disk"));
}

static void names_hold_no_nul(void **state)
{
    (void)state;
    build_named(&build, ARCHIVE_FILE, "a\0b", 3, 0, 0);
    build_end(&build);
    refused("NUL");
    restart();
    build_named(&build, ARCHIVE_SKIPPED, "\0", 1, ARCHIVE_SKIP_FIFO, 0);
    build_end(&build);
    refused("NUL");
}

static void the_end_counts(void **state)
{
    (void)state;
    build_dir(&build, "d");
    build.records = 0;
    build_end(&build);
    refused("counts 0 records, there are 1");
    restart();
    build.records = 1;
    build_end(&build);
    refused("counts 1 records, there are 0");
    restart();
    build_end(&build);
    assert_int_equal(read_all(), 0);
}

static int failing_read(
    void *context, void *buffer, size_t size, uint64_t offset, struct err *read_err)
{
    (void)context, (void)buffer, (void)size, (void)offset;
    errno = EIO;
    return err_sys(read_err, "cannot read the export disk");
}

static void a_disk_that_cannot_be_read_is_no_broken_rule(void **state)
{
    (void)state;
    source = (struct archive_source){.read = failing_read, .size_bytes = 4096};
    assert_int_equal(archive_reader_init(&reader, &source, &err), -1);
    assert_int_equal(err.errnum, EIO);
}

#define READER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    READER_TEST(items_come_as_they_are),
    READER_TEST(what_follows_the_end_means_nothing),
    READER_TEST(large_extents),
    READER_TEST(skipped_data_is_checked_but_not_handed_out),
    READER_TEST(every_cut_is_refused),
    READER_TEST(every_cut_on_a_disk_of_zeros_is_refused),
    READER_TEST(garbage_is_refused),
    READER_TEST(extents_obey_their_file),
    READER_TEST(extents_lie_inside),
    READER_TEST(names_hold_no_nul),
    READER_TEST(the_end_counts),
    READER_TEST(a_disk_that_cannot_be_read_is_no_broken_rule),
};

UNIT_MAIN(tests)
