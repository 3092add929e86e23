/* SPDX-License-Identifier: Apache-2.0 */
/* archive_test.c: record headers on their own: what each kind may say and what it may not. */
#include <string.h>

#include "base/num.h"
#include "tests/unit/unit.h"
#include "wire/archive.h"

static void the_header_is_exact(void **state)
{
    uint8_t bytes[ARCHIVE_HEADER_BYTES];
    struct err err = ERR_INIT;

    (void)state;
    archive_put_header(bytes);
    assert_memory_equal(bytes, "VMRARCH1\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(archive_get_header(bytes, &err), 0);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 1;
        assert_int_equal(archive_get_header(bytes, &err), -1);
        bytes[i] ^= 1;
    }
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(archive_get_header(bytes, &err), -1);
}

static void the_layout_is_as_written(void **state)
{
    static const uint8_t right[ARCHIVE_RECORD_BYTES] = {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 1, 2, 3, 4, 5, 6, 7, 8};
    const struct archive_record record = {
        .kind = ARCHIVE_EXTENT, .size = 0x1122334455667788ULL, .offset = 0x0807060504030201ULL};
    uint8_t bytes[ARCHIVE_RECORD_BYTES];

    (void)state;
    archive_put_record(bytes, &record);
    assert_memory_equal(bytes, right, sizeof(right));
}

/* Encode, decode, and compare what comes back. */
static int check(struct archive_record record)
{
    uint8_t bytes[ARCHIVE_RECORD_BYTES];
    struct archive_record back = {0};
    struct err err = ERR_INIT;
    int result;

    archive_put_record(bytes, &record);
    result = archive_get_record(bytes, &back, &err);
    assert_int_equal(err_is_set(&err), result != 0);
    if (result == 0) {
        assert_true(back.kind == record.kind && back.name_bytes == record.name_bytes);
        assert_true(back.mode == record.mode && back.size == record.size);
        assert_true(back.offset == record.offset);
    }
    return result;
}

#define GOOD(...) assert_int_equal(check((struct archive_record){__VA_ARGS__}), 0)
#define BAD(...)  assert_int_equal(check((struct archive_record){__VA_ARGS__}), -1)

static void kinds(void **state)
{
    (void)state;
    BAD(.kind = 0, .name_bytes = 1);
    BAD(.kind = 0);
    BAD(.kind = ARCHIVE_END + 1);
    BAD(.kind = UINT32_MAX);
}

static void named_records(void **state)
{
    (void)state;
    for (uint32_t kind = ARCHIVE_DIR; kind <= ARCHIVE_FILE; kind++) {
        BAD(.kind = kind, .name_bytes = 0);
        GOOD(.kind = kind, .name_bytes = 1);
        GOOD(.kind = kind, .name_bytes = ARCHIVE_NAME_MAX_BYTES);
        BAD(.kind = kind, .name_bytes = ARCHIVE_NAME_MAX_BYTES + 1);
        BAD(.kind = kind, .name_bytes = UINT32_MAX);
        GOOD(.kind = kind, .name_bytes = 1, .mode = 07777);
        BAD(.kind = kind, .name_bytes = 1, .mode = 010000);
        BAD(.kind = kind, .name_bytes = 1, .offset = 1);
    }
    GOOD(.kind = ARCHIVE_FILE, .name_bytes = 1, .size = UINT64_MAX);
    BAD(.kind = ARCHIVE_DIR, .name_bytes = 1, .size = 1);
}

static void skipped_records(void **state)
{
    (void)state;
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = 1, .mode = 0);
    for (uint32_t skip = 1; skip <= ARCHIVE_SKIP_LAST; skip++) {
        GOOD(.kind = ARCHIVE_SKIPPED, .name_bytes = 1, .mode = skip);
        assert_string_not_equal(archive_skip_text(skip), "unknown");
    }
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = 1, .mode = ARCHIVE_SKIP_LAST + 1);
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = 0, .mode = 1);
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = ARCHIVE_NAME_MAX_BYTES + 1, .mode = 1);
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = 1, .mode = 1, .size = 1);
    BAD(.kind = ARCHIVE_SKIPPED, .name_bytes = 1, .mode = 1, .offset = 1);
    assert_string_equal(archive_skip_text(0), "unknown");
    assert_string_equal(archive_skip_text(ARCHIVE_SKIP_LAST + 1), "unknown");
}

static void extents_and_the_end(void **state)
{
    (void)state;
    BAD(.kind = ARCHIVE_EXTENT, .size = 0);
    GOOD(.kind = ARCHIVE_EXTENT, .size = 1, .offset = UINT64_MAX);
    BAD(.kind = ARCHIVE_EXTENT, .size = 1, .name_bytes = 1);
    BAD(.kind = ARCHIVE_EXTENT, .size = 1, .mode = 1);
    GOOD(.kind = ARCHIVE_END);
    GOOD(.kind = ARCHIVE_END, .size = UINT64_MAX);
    BAD(.kind = ARCHIVE_END, .offset = 1);
    BAD(.kind = ARCHIVE_END, .mode = 1);
    BAD(.kind = ARCHIVE_END, .name_bytes = 1);
}

static void the_reserved_field_is_zero(void **state)
{
    const struct archive_record record = {.kind = ARCHIVE_END};
    uint8_t bytes[ARCHIVE_RECORD_BYTES];
    struct archive_record back;
    struct err err = ERR_INIT;

    (void)state;
    archive_put_record(bytes, &record);
    for (size_t i = 12; i < 16; i++) {
        bytes[i] = 0x80;
        assert_int_equal(archive_get_record(bytes, &back, &err), -1);
        bytes[i] = 0;
    }
    err = (struct err)ERR_INIT;
    assert_int_equal(archive_get_record(bytes, &back, &err), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_header_is_exact),
    cmocka_unit_test(the_layout_is_as_written),
    cmocka_unit_test(kinds),
    cmocka_unit_test(named_records),
    cmocka_unit_test(skipped_records),
    cmocka_unit_test(extents_and_the_end),
    cmocka_unit_test(the_reserved_field_is_zero),
};

UNIT_MAIN(tests)
