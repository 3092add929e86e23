/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=malloc */
/* json_memory_test.c: JSON without memory: from the reserve, and when that is used up as well. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/error_json.h"
#include "supervisor/json_memory.h"
#include "supervisor/result_parts.h"
#include "tests/unit/unit.h"

static long malloc_left; /* allocations of our own code that still succeed; -1: all */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    if (malloc_left == 0)
        return NULL;
    if (malloc_left > 0)
        malloc_left--;
    return __real_malloc(size);
}

static int set_up(void **state)
{
    (void)state;
    malloc_left = -1;
    json_memory_use();
    json_memory_begin();
    return 0;
}

/* A list of COUNT numbers as text, or NULL. */
static char *numbers(int count)
{
    json_t *list = json_array();
    char *text;

    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(i));
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

/* Whichever allocation is the first that fails, the text is the same. */
static void the_reserve_stands_in_from_any_allocation_on(void **state)
{
    char *right = numbers(100);

    (void)state;
    assert_non_null(right);
    for (long left = 0; left < 120; left++) {
        char *text;

        malloc_left = left;
        json_memory_begin();
        text = numbers(100);
        assert_false(json_memory_failed());
        assert_string_equal(text, right);
        json_memory_free(text);
    }
    malloc_left = -1;
    json_memory_free(right);
}

/* More often than it would last if what was freed did not come back. */
static void what_is_freed_comes_back(void **state)
{
    (void)state;
    malloc_left = 0;
    for (int i = 0; i < 2000; i++) {
        char *text = numbers(100);

        assert_false(json_memory_failed());
        json_memory_free(text);
    }
}

static void the_reserve_ends_and_that_is_told_once(void **state)
{
    char *text;

    (void)state;
    malloc_left = 0;
    text = numbers(JSON_RESERVE_BYTES);
    assert_true(json_memory_failed());
    json_memory_free(text);
    json_memory_begin();
    text = numbers(10);
    assert_false(json_memory_failed());
    assert_string_equal(text, "[0,1,2,3,4,5,6,7,8,9]");
    json_memory_free(text);
}

/* Nothing of what put() is built of fails by itself. */
static void put_goes_on_without_an_object(void **state)
{
    (void)state;
    put(NULL, "a", NULL);
    put_text(NULL, "a", "b");
    put_number(NULL, "a", 1);
    put_bytes(NULL, "a", "\xff", 1);
}

static void errors_are_told_without_memory(void **state)
{
    struct text_list errors = {0};
    char *text;

    (void)state;
    text_list_add(&errors, "t.ini:1: [task] name: no");
    malloc_left = 0;
    text_list_add(&errors, "one more");
    assert_true(errors.failed && errors.count == 1);
    text = error_json(&errors, "t.ini", 125, false);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"key\": \"name\""));
    assert_non_null(strstr(text, "out of memory"));
    assert_null(strstr(text, "one more"));
    json_memory_free(text);
    malloc_left = -1;
    text_list_free(&errors);
    assert_false(errors.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_reserve_stands_in_from_any_allocation_on, set_up),
        cmocka_unit_test_setup(what_is_freed_comes_back, set_up),
        cmocka_unit_test_setup(the_reserve_ends_and_that_is_told_once, set_up),
        cmocka_unit_test_setup(put_goes_on_without_an_object, set_up),
        cmocka_unit_test_setup(errors_are_told_without_memory, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
