/* SPDX-License-Identifier: Apache-2.0 */
/* config_value_test.c: units are mandatory, numbers do not wrap, words split as in a shell. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "supervisor/config_value.h"
#include "tests/unit/unit.h"

static void assert_refused(int failed, const struct err *err, const char *part)
{
    assert_int_equal(failed, -1);
    if (!strstr(err->text, part))
        fail_msg("\"%s\" lacks \"%s\"", err->text, part);
}

static void sizes_need_a_unit_and_fit(void **state)
{
    struct err err = ERR_INIT;
    uint64_t bytes;

    (void)state;
    assert_int_equal(value_size("512M", &bytes, &err), 0);
    assert_true(bytes == 512 * MIB);
    assert_int_equal(value_size("1B", &bytes, &err), 0);
    assert_true(bytes == 1);
    assert_int_equal(value_size("0K", &bytes, &err), 0);
    assert_true(bytes == 0);
    assert_int_equal(value_size("16777215T", &bytes, &err), 0);
    assert_true(bytes == UINT64_MAX - (1024 * GIB - 1));
    assert_refused(value_size("16777216T", &bytes, &err), &err, "too large");
    assert_refused(value_size("18446744073709551616B", &bytes, &err), &err, "whole number");
    assert_refused(value_size("512", &bytes, &err), &err, "the unit is missing");
    assert_refused(value_size("", &bytes, &err), &err, "whole number and a unit");
    assert_refused(value_size("-1M", &bytes, &err), &err, "whole number and a unit");
    assert_refused(value_size("1.5G", &bytes, &err), &err, "unknown unit");
    assert_refused(value_size("512 M", &bytes, &err), &err, "unknown unit");
    assert_refused(value_size("512MiB", &bytes, &err), &err, "unknown unit");
    assert_refused(value_size("30s", &bytes, &err), &err, "like 64K, 512M or 2G");
}

static void durations_need_a_unit_and_fit(void **state)
{
    struct err err = ERR_INIT;
    uint64_t ns;

    (void)state;
    assert_int_equal(value_duration("500ms", &ns, &err), 0);
    assert_true(ns == 500 * NS_PER_MS);
    assert_int_equal(value_duration("30s", &ns, &err), 0);
    assert_true(ns == 30 * NS_PER_S);
    assert_int_equal(value_duration("10m", &ns, &err), 0);
    assert_true(ns == 600 * NS_PER_S);
    assert_int_equal(value_duration("2h", &ns, &err), 0);
    assert_true(ns == 7200 * NS_PER_S);
    assert_int_equal(value_duration("18446744073s", &ns, &err), 0);
    assert_refused(value_duration("18446744074s", &ns, &err), &err, "too large");
    assert_refused(value_duration("30", &ns, &err), &err, "the unit is missing");
    assert_refused(value_duration("30S", &ns, &err), &err, "unknown unit");
}

static void counts_have_no_unit(void **state)
{
    struct err err = ERR_INIT;
    uint64_t count;

    (void)state;
    assert_int_equal(value_count("18446744073709551615", &count, &err), 0);
    assert_true(count == UINT64_MAX);
    assert_refused(value_count("18446744073709551616", &count, &err), &err, "whole number");
    assert_refused(value_count("4k", &count, &err), &err, "without a unit");
    assert_refused(value_count("+4", &count, &err), &err, "without a unit");
    assert_refused(value_count("0x4", &count, &err), &err, "without a unit");
}

static void digests_have_64_digits(void **state)
{
    struct err err = ERR_INIT;
    uint8_t digest[32];
    char text[66];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[64] = '\0';
    text[0] = 'F';
    assert_int_equal(value_sha256(text, digest, &err), 0);
    assert_int_equal(digest[0], 0xfa);
    assert_int_equal(digest[31], 0xaa);
    text[63] = 'g';
    assert_refused(value_sha256(text, digest, &err), &err, "64 hexadecimal digits");
    text[63] = '\0';
    assert_refused(value_sha256(text, digest, &err), &err, "64 hexadecimal digits");
    memset(text, 'a', 65);
    text[65] = '\0';
    assert_refused(value_sha256(text, digest, &err), &err, "64 hexadecimal digits");
}

/* The words of TEXT, each followed by '|'. */
static void assert_words(const char *text, const char *joined)
{
    struct text_list words = {0};
    struct err err = ERR_INIT;
    char all[256] = "";

    assert_int_equal(value_words(text, &words, &err), 0);
    for (size_t i = 0; i < words.count; i++) {
        strcat(all, words.items[i]);
        strcat(all, "|");
    }
    assert_string_equal(all, joined);
    text_list_free(&words);
}

static void assert_no_words(const char *text, const char *part)
{
    struct text_list words = {0};
    struct err err = ERR_INIT;

    assert_refused(value_words(text, &words, &err), &err, part);
    text_list_free(&words);
}

static void words_split_as_in_a_shell(void **state)
{
    (void)state;
    assert_words("a b\t c ", "a|b|c|");
    assert_words("'a b' \"c d\"", "a b|c d|");
    assert_words("a'b c'd\"e f\"g", "ab cde fg|");
    assert_words("'' \"\" x", "||x|");
    assert_words("a\\ b \\'c \\\\", "a b|'c|\\|");
    assert_words("'a\\b' 'c\"d'", "a\\b|c\"d|");
    assert_words("\"a\\\"b\\\\c\\$d\\`e\\nf'g\"", "a\"b\\c$d`e\\nf'g|");
    assert_words("$HOME *.c `id` $(id) ~ # x", "$HOME|*.c|`id`|$(id)|~|#|x|");
    assert_no_words("", "empty");
    assert_no_words("   ", "empty");
    assert_no_words("a 'b", "' quote is never closed");
    assert_no_words("a \"b\\\"", "\" quote is never closed");
    assert_no_words("a\\", "ends in a backslash");
}

static void lists_have_no_empty_items(void **state)
{
    struct text_list items = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(value_list("a, b c ,d", &items, &err), 0);
    assert_int_equal(items.count, 3);
    assert_string_equal(items.items[1], "b c");
    assert_string_equal(items.items[2], "d");
    text_list_free(&items);
    assert_int_equal(value_list("", &items, &err), 0);
    assert_int_equal(items.count, 0);
    assert_refused(value_list("a,,b", &items, &err), &err, "empty");
    text_list_free(&items);
    assert_refused(value_list("a,", &items, &err), &err, "empty");
    text_list_free(&items);
    assert_refused(value_list(", a", &items, &err), &err, "empty");
    text_list_free(&items);
}

static void assert_task_path(const char *text, const char *clean)
{
    struct err err = ERR_INIT;
    char *path = NULL;

    assert_int_equal(value_task_path(text, &path, &err), 0);
    assert_string_equal(path, clean);
    free(path);
}

static void assert_no_task_path(const char *text, const char *part)
{
    struct err err = ERR_INIT;
    char *path = NULL;

    assert_refused(value_task_path(text, &path, &err), &err, part);
    assert_null(path);
}

static void task_paths_stay_below_task(void **state)
{
    char component[258];

    (void)state;
    assert_task_path("a", "a");
    assert_task_path("/task/a/b", "a/b");
    assert_task_path("./a//b/./c/", "a/b/c");
    assert_task_path("a/..b/c..", "a/..b/c..");
    assert_no_task_path("/etc/passwd", "below /task");
    assert_no_task_path("/taskforce", "below /task");
    assert_no_task_path("/task", "below /task");
    assert_no_task_path("/task/", "names /task itself");
    assert_no_task_path(".", "names /task itself");
    assert_no_task_path("", "names /task itself");
    assert_no_task_path("a/../b", "\"..\"");
    assert_no_task_path("..", "\"..\"");
    assert_no_task_path("/task/..", "\"..\"");
    memset(component, 'c', 256);
    component[255] = '\0';
    assert_task_path(component, component);
    component[255] = 'c';
    component[256] = '\0';
    assert_no_task_path(component, "255 bytes");
}

static void values_are_shown_in_their_largest_exact_unit(void **state)
{
    char text[32];

    (void)state;
    value_size_text(text, 512 * MIB);
    assert_string_equal(text, "512M");
    value_size_text(text, 1536 * MIB);
    assert_string_equal(text, "1536M");
    value_size_text(text, 1025);
    assert_string_equal(text, "1025B");
    value_duration_text(text, 90 * NS_PER_S);
    assert_string_equal(text, "90s");
    value_duration_text(text, 100 * NS_PER_MS);
    assert_string_equal(text, "100ms");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sizes_need_a_unit_and_fit),
    cmocka_unit_test(durations_need_a_unit_and_fit),
    cmocka_unit_test(counts_have_no_unit),
    cmocka_unit_test(digests_have_64_digits),
    cmocka_unit_test(words_split_as_in_a_shell),
    cmocka_unit_test(lists_have_no_empty_items),
    cmocka_unit_test(task_paths_stay_below_task),
    cmocka_unit_test(values_are_shown_in_their_largest_exact_unit),
};

UNIT_MAIN(tests)
