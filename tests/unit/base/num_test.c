/* SPDX-License-Identifier: Apache-2.0 */
/* num_test.c: checked numbers: inside the limit, at it, one past it. */
#include "base/num.h"
#include "tests/unit/unit.h"

static void sums_are_checked(void **state)
{
    uint64_t sum = 7;

    (void)state;
    assert_true(u64_add(UINT64_MAX - 1, 1, &sum));
    assert_true(sum == UINT64_MAX);
    sum = 7;
    assert_false(u64_add(UINT64_MAX, 1, &sum));
    assert_true(sum == 7);
    assert_true(u64_add(0, 0, &sum));
    assert_true(sum == 0);
}

static void products_are_checked(void **state)
{
    uint64_t product = 7;

    (void)state;
    assert_true(u64_mul(UINT32_MAX, UINT32_MAX, &product));
    assert_true(product == 0xfffffffe00000001ULL);
    product = 7;
    assert_false(u64_mul(1ULL << 32, 1ULL << 32, &product));
    assert_true(product == 7);
    assert_true(u64_mul(UINT64_MAX, 1, &product));
    assert_true(product == UINT64_MAX);
}

static void ranges_lie_inside_or_not(void **state)
{
    (void)state;
    assert_true(range_within(0, 0, 0));
    assert_true(range_within(0, 10, 10));
    assert_true(range_within(10, 0, 10));
    assert_true(range_within(9, 1, 10));
    assert_false(range_within(9, 2, 10));
    assert_false(range_within(11, 0, 10));
    assert_false(range_within(UINT64_MAX, 2, UINT64_MAX));
    assert_false(range_within(1, UINT64_MAX, UINT64_MAX));
    assert_true(range_within(0, UINT64_MAX, UINT64_MAX));
}

static void ranges_overlap_or_not(void **state)
{
    (void)state;
    assert_false(range_overlaps(0, 10, 10, 10));
    assert_false(range_overlaps(10, 10, 0, 10));
    assert_true(range_overlaps(0, 11, 10, 10));
    assert_true(range_overlaps(5, 1, 0, 10));
    assert_true(range_overlaps(0, 10, 5, 1));
    assert_false(range_overlaps(5, 0, 5, 0));
    assert_false(range_overlaps(5, 0, 0, 10)); /* nothing shares no byte */
    assert_false(range_overlaps(0, 10, 5, 0));
}

static void alignment_rounds_up(void **state)
{
    (void)state;
    assert_true(align_up(0, 4096) == 0);
    assert_true(align_up(1, 4096) == 4096);
    assert_true(align_up(4096, 4096) == 4096);
    assert_true(align_up(4097, 4096) == 8192);
    assert_true(align_up(UINT64_MAX - 4095, 4096) == UINT64_MAX - 4095);
}

static void the_smaller_one(void **state)
{
    (void)state;
    assert_true(u64_min(1, 2) == 1 && u64_min(2, 1) == 1 && u64_min(2, 2) == 2);
    assert_true(size_min(1, 2) == 1 && size_min(2, 1) == 1 && size_min(SIZE_MAX, 0) == 0);
}

static void little_endian_at_any_alignment(void **state)
{
    uint8_t bytes[16] = {0};

    (void)state;
    le64_store(bytes + 1, 0x8877665544332211ULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(bytes[1 + i], 0x11 * (i + 1));
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[9], 0);
    assert_true(le64_load(bytes + 1) == 0x8877665544332211ULL);
    assert_true(le32_load(bytes + 1) == 0x44332211U);
    assert_true(le16_load(bytes + 1) == 0x2211U);
    le32_store(bytes + 3, 0xfffefdfcU);
    assert_true(le32_load(bytes + 3) == 0xfffefdfcU);
    le16_store(bytes + 5, 0xffff);
    assert_true(le16_load(bytes + 5) == 0xffff);
    le64_store(bytes, UINT64_MAX);
    assert_true(le64_load(bytes) == UINT64_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_are_checked),
    cmocka_unit_test(products_are_checked),
    cmocka_unit_test(ranges_lie_inside_or_not),
    cmocka_unit_test(ranges_overlap_or_not),
    cmocka_unit_test(alignment_rounds_up),
    cmocka_unit_test(the_smaller_one),
    cmocka_unit_test(little_endian_at_any_alignment),
};

UNIT_MAIN(tests)
