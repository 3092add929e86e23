/* SPDX-License-Identifier: Apache-2.0 */
/* cursor_test.c: nothing is read or written past the end, and the failure sticks. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "tests/unit/unit.h"

static void fields_come_back(void **state)
{
    uint8_t bytes[18];
    struct writer writer = writer_make(bytes, sizeof(bytes));
    struct reader reader;
    char text[3];

    (void)state;
    writer_u8(&writer, 0xab);
    writer_u16(&writer, 0xcdef);
    writer_u32(&writer, 0x12345678);
    writer_u64(&writer, 0x0123456789abcdefULL);
    writer_bytes(&writer, "xyz", 3);
    assert_false(writer.failed);
    assert_int_equal(writer.used, sizeof(bytes));
    reader = reader_make(bytes, sizeof(bytes));
    assert_int_equal(reader_u8(&reader), 0xab);
    assert_int_equal(reader_u16(&reader), 0xcdef);
    assert_int_equal(reader_u32(&reader), 0x12345678);
    assert_true(reader_u64(&reader) == 0x0123456789abcdefULL);
    assert_false(reader_done(&reader));
    reader_copy(&reader, text, sizeof(text));
    assert_memory_equal(text, "xyz", 3);
    assert_true(reader_done(&reader));
}

/* The buffers come from malloc, so that the sanitizer sees a byte too far. */
static void reading_stops_at_the_end(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8};

    (void)state;
    for (size_t kind = 0; kind < 4; kind++) {
        for (size_t left = 0; left < sizes[kind]; left++) {
            uint8_t *bytes = malloc(left + 1);
            struct reader reader;
            uint64_t value = 1;

            assert_non_null(bytes);
            bytes = realloc(bytes, left ? left : 1);
            assert_non_null(bytes);
            memset(bytes, 0xff, left ? left : 1);
            reader = reader_make(bytes, left);
            if (kind == 0)
                value = reader_u8(&reader);
            if (kind == 1)
                value = reader_u16(&reader);
            if (kind == 2)
                value = reader_u32(&reader);
            if (kind == 3)
                value = reader_u64(&reader);
            assert_true(value == 0);
            assert_true(reader.failed);
            assert_false(reader_done(&reader));
            free(bytes);
        }
    }
}

static void a_failed_reader_stays_failed(void **state)
{
    uint8_t bytes[4] = {1, 2, 3, 4}, copy[8];
    struct reader reader = reader_make(bytes, sizeof(bytes));

    (void)state;
    assert_true(reader_u64(&reader) == 0);
    assert_int_equal(reader_u8(&reader), 0);
    assert_null(reader_bytes(&reader, 0));
    memset(copy, 0xff, sizeof(copy));
    reader_copy(&reader, copy, sizeof(copy));
    for (size_t i = 0; i < sizeof(copy); i++)
        assert_int_equal(copy[i], 0);
    reader_copy(&reader, NULL, 0);
    assert_false(reader_done(&reader));
}

static void bytes_are_lent_not_copied(void **state)
{
    uint8_t bytes[4] = {1, 2, 3, 4};
    struct reader reader = reader_make(bytes, sizeof(bytes));

    (void)state;
    assert_ptr_equal(reader_bytes(&reader, 3), bytes);
    assert_null(reader_bytes(&reader, 2));
    assert_null(reader_bytes(&reader, 1));
    reader = reader_make(bytes, sizeof(bytes));
    assert_null(reader_bytes(&reader, SIZE_MAX));
    reader = reader_make(NULL, 0);
    reader_copy(&reader, NULL, 0);
    assert_null(reader_bytes(&reader, 0));
    assert_true(reader_done(&reader));
}

static void writing_stops_at_the_end(void **state)
{
    uint8_t bytes[8];
    struct writer writer;

    (void)state;
    for (size_t size = 0; size < 8; size++) {
        memset(bytes, 0xee, sizeof(bytes));
        writer = writer_make(bytes, size);
        writer_u64(&writer, 0);
        assert_true(writer.failed);
        assert_int_equal(writer.used, 0);
        writer_u8(&writer, 0); /* would fit, but the writer has failed */
        for (size_t i = 0; i < sizeof(bytes); i++)
            assert_int_equal(bytes[i], 0xee);
    }
    writer = writer_make(bytes, sizeof(bytes));
    writer_u64(&writer, 5);
    assert_false(writer.failed);
    writer_bytes(&writer, "", 0);
    assert_false(writer.failed);
    writer_u8(&writer, 5);
    assert_true(writer.failed);
    writer = writer_make(bytes, sizeof(bytes));
    writer_u32(&writer, 1);
    writer_bytes(&writer, bytes, SIZE_MAX);
    assert_true(writer.failed);
    writer = writer_make(bytes, 1);
    writer_u16(&writer, 1);
    assert_true(writer.failed);
    writer = writer_make(bytes, 3);
    writer_u32(&writer, 1);
    assert_true(writer.failed);
    writer = writer_make(NULL, 0);
    writer_bytes(&writer, NULL, 0);
    assert_false(writer.failed);
    writer_u8(&writer, 1);
    assert_true(writer.failed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fields_come_back),
    cmocka_unit_test(reading_stops_at_the_end),
    cmocka_unit_test(a_failed_reader_stays_failed),
    cmocka_unit_test(bytes_are_lent_not_copied),
    cmocka_unit_test(writing_stops_at_the_end),
};

UNIT_MAIN(tests)
