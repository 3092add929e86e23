/* SPDX-License-Identifier: Apache-2.0 */
/* job_test.c: the job's fields come back in order; malformed, doubled and cut ones are refused. */
#include <string.h>

#include "base/num.h"
#include "tests/unit/unit.h"
#include "wire/job.h"

static bool tag_is_text(uint32_t tag)
{
    return tag == JOB_ARG || tag == JOB_ENV || tag == JOB_WORKDIR || tag == JOB_HOSTNAME ||
           tag == JOB_COLLECT || tag == JOB_UNPACK;
}

static bool tag_repeats(uint32_t tag)
{
    return tag == JOB_ARG || tag == JOB_ENV || tag == JOB_COLLECT || tag == JOB_UNPACK;
}

/* Read all fields: how many there are, or -1. */
static int count_fields(const uint8_t *bytes, size_t size)
{
    struct reader reader = reader_make(bytes, size);
    struct err err = ERR_INIT;
    struct job_field field;
    uint32_t seen = 0;
    int count = 0;

    for (;;) {
        int result = job_next(&reader, &seen, &field, &err);

        assert_int_equal(err_is_set(&err), result < 0);
        if (result <= 0)
            return result < 0 ? -1 : count;
        count++;
    }
}

static void fields_come_back_in_order(void **state)
{
    uint8_t bytes[256];
    struct writer writer = writer_make(bytes, sizeof(bytes));
    struct err err = ERR_INIT;
    struct job_field field;
    struct reader reader;
    uint32_t seen = 0;

    (void)state;
    job_put_bytes(&writer, JOB_ARG, "python3", 7);
    job_put_number(&writer, JOB_UID, UINT64_MAX);
    job_put_bytes(&writer, JOB_ARG, "", 0);
    assert_false(writer.failed);
    reader = reader_make(bytes, writer.used);
    assert_int_equal(job_next(&reader, &seen, &field, &err), 1);
    assert_true(field.tag == JOB_ARG && field.size == 7);
    assert_memory_equal(field.bytes, "python3", 7);
    assert_int_equal(job_next(&reader, &seen, &field, &err), 1);
    assert_true(field.tag == JOB_UID && field.number == UINT64_MAX && !field.bytes);
    assert_int_equal(job_next(&reader, &seen, &field, &err), 1);
    assert_true(field.tag == JOB_ARG && field.size == 0);
    assert_int_equal(job_next(&reader, &seen, &field, &err), 0);
    assert_int_equal(job_next(&reader, &seen, &field, &err), 0);
}

static void put_any(struct writer *writer, uint32_t tag)
{
    if (tag_is_text(tag))
        job_put_bytes(writer, (enum job_tag)tag, "x", 1);
    else
        job_put_number(writer, (enum job_tag)tag, 1);
}

static void only_some_tags_repeat(void **state)
{
    (void)state;
    for (uint32_t tag = JOB_ARG; tag <= JOB_TAG_LAST; tag++) {
        uint8_t bytes[64];
        struct writer writer = writer_make(bytes, sizeof(bytes));

        put_any(&writer, tag);
        assert_int_equal(count_fields(bytes, writer.used), 1);
        put_any(&writer, tag);
        assert_int_equal(count_fields(bytes, writer.used), tag_repeats(tag) ? 2 : -1);
    }
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    for (uint32_t tag = JOB_ARG; tag <= JOB_TAG_LAST; tag++) {
        uint8_t bytes[64];
        struct writer writer = writer_make(bytes, sizeof(bytes));

        put_any(&writer, tag);
        assert_int_equal(count_fields(bytes, 0), 0);
        for (size_t size = 1; size < writer.used; size++)
            assert_int_equal(count_fields(bytes, size), -1);
    }
}

static int count_raw(uint32_t tag, uint32_t length, size_t there)
{
    uint8_t bytes[64] = {0};

    le32_store(bytes, tag);
    le32_store(bytes + 4, length);
    memset(bytes + 8, 'x', there);
    return count_fields(bytes, 8 + there);
}

static void malformed_fields_are_refused(void **state)
{
    (void)state;
    assert_int_equal(count_raw(0, 1, 1), -1);
    assert_int_equal(count_raw(JOB_TAG_LAST + 1, 8, 8), -1);
    assert_int_equal(count_raw(JOB_TAG_LAST + 32, 8, 8), -1);
    assert_int_equal(count_raw(UINT32_MAX, 8, 8), -1);
    assert_int_equal(count_raw(JOB_UID, 8, 8), 1);
    assert_int_equal(count_raw(JOB_UID, 7, 7), -1);
    assert_int_equal(count_raw(JOB_UID, 9, 9), -1);
    assert_int_equal(count_raw(JOB_UID, 0, 0), -1);
    assert_int_equal(count_raw(JOB_ARG, 9, 8), -1);
    assert_int_equal(count_raw(JOB_ARG, UINT32_MAX, 8), -1);
}

static void text_holds_no_nul(void **state)
{
    uint8_t bytes[64];
    struct writer writer = writer_make(bytes, sizeof(bytes));

    (void)state;
    job_put_bytes(&writer, JOB_ENV, "A=\0b", 4);
    assert_int_equal(count_fields(bytes, writer.used), -1);
    writer = writer_make(bytes, sizeof(bytes));
    job_put_bytes(&writer, JOB_ENV, "A=\xff\x01", 4);
    assert_int_equal(count_fields(bytes, writer.used), 1);
}

static void what_does_not_fit_is_seen(void **state)
{
    uint8_t bytes[16];
    struct writer writer = writer_make(bytes, sizeof(bytes));

    (void)state;
    job_put_number(&writer, JOB_UID, 1);
    assert_false(writer.failed);
    job_put_bytes(&writer, JOB_ARG, "", 0);
    assert_true(writer.failed);
    writer = writer_make(bytes, 15);
    job_put_number(&writer, JOB_UID, 1);
    assert_true(writer.failed);
    writer = writer_make(bytes, sizeof(bytes));
    job_put_bytes(&writer, JOB_ARG, bytes, (size_t)UINT32_MAX + 1);
    assert_true(writer.failed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fields_come_back_in_order),
    cmocka_unit_test(only_some_tags_repeat),
    cmocka_unit_test(every_cut_is_refused),
    cmocka_unit_test(malformed_fields_are_refused),
    cmocka_unit_test(text_holds_no_nul),
    cmocka_unit_test(what_does_not_fit_is_seen),
};

UNIT_MAIN(tests)
