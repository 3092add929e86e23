/* SPDX-License-Identifier: Apache-2.0 */
/* image_problem_test.c: an image that no guest could mount is told from its first bytes. */
#include <string.h>

#include "base/num.h"
#include "supervisor/plan_file.h"
#include "tests/unit/unit.h"

enum { BLOCK_BYTES = 4096, BLOCKS = 10, EROFS_SUPER = 1024 };

static uint8_t head[IMAGE_HEAD_BYTES];

static int set_up(void **state)
{
    (void)state;
    memset(head, 0, sizeof(head));
    le32_store(head + EROFS_SUPER, 0xe0f5e1e2);
    head[EROFS_SUPER + 12] = 12;
    le32_store(head + EROFS_SUPER + 36, BLOCKS);
    return 0;
}

static void says(uint64_t size, const char *words)
{
    const char *problem = image_problem(head, size);

    if (!problem || !strstr(problem, words))
        fail_msg("\"%s\" does not say \"%s\"", problem ? problem : "(nothing)", words);
}

static void an_erofs_image_is_as_long_as_it_says(void **state)
{
    (void)state;
    assert_null(image_problem(head, BLOCKS * BLOCK_BYTES));
    assert_null(image_problem(head, (BLOCKS + 1) * BLOCK_BYTES));
    says(BLOCKS * BLOCK_BYTES - 512, "cut short");
    says(BLOCKS * BLOCK_BYTES + 1, "multiple of 512");
    le32_store(head + EROFS_SUPER + 36, UINT32_MAX); /* times 4096 needs 64 bits */
    says(BLOCKS * BLOCK_BYTES, "cut short");
}

static void the_block_size_is_one_that_there_is(void **state)
{
    (void)state;
    head[EROFS_SUPER + 12] = 9;
    assert_null(image_problem(head, BLOCKS * BLOCK_BYTES));
    head[EROFS_SUPER + 12] = 8;
    says(BLOCKS * BLOCK_BYTES, "block size");
    head[EROFS_SUPER + 12] = 16;
    assert_null(image_problem(head, BLOCKS * 65536ULL));
    head[EROFS_SUPER + 12] = 17;
    says(BLOCKS * 65536ULL, "block size");
}

static void a_squashfs_image_is_as_long_as_it_says(void **state)
{
    (void)state;
    memset(head, 0, sizeof(head));
    memcpy(head, "hsqs", 4);
    le64_store(head + 40, 4000);
    assert_null(image_problem(head, 4096));
    le64_store(head + 40, 4097);
    says(4096, "cut short");
    le64_store(head + 40, UINT64_MAX);
    says(4096, "cut short");
}

static void what_is_no_image_is_told(void **state)
{
    (void)state;
    says(IMAGE_HEAD_BYTES - 1, "too short");
    says(0, "too short");
    memset(head, 0xff, sizeof(head));
    says(4096, "neither an EROFS nor a squashfs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_erofs_image_is_as_long_as_it_says, set_up),
        cmocka_unit_test_setup(the_block_size_is_one_that_there_is, set_up),
        cmocka_unit_test_setup(a_squashfs_image_is_as_long_as_it_says, set_up),
        cmocka_unit_test_setup(what_is_no_image_is_told, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
