/* SPDX-License-Identifier: Apache-2.0 */
/* names_test.c: which names are paths, which are broken, and which are merely not to be shown. */
#include <string.h>

#include "extractor/names.h"
#include "tests/unit/unit.h"

static enum name_verdict judge_bytes(const void *name, size_t size, uint32_t max_depth)
{
    struct err err = ERR_INIT;
    enum name_verdict verdict = name_judge(name, size, max_depth, &err);

    assert_int_equal(err_is_set(&err), verdict == NAME_BROKEN);
    return verdict;
}

static enum name_verdict judge(const char *name)
{
    return judge_bytes(name, strlen(name), 32);
}

static void paths_are_good(void **state)
{
    static const char *const good[] = {"a", "a/b", "...", "..a", "a..", ".a", ".hidden/x", " ",
        "-rf", "a b/c", "CON", "a:b", "x.", "\xff\xfe", "\x1b]0;t\x07", "a\\..\\b", "~", "*",
        "\xe2\x80\xae", "caf\xc3\xa9"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(judge(good[i]), NAME_GOOD);
}

static void traversal_is_broken(void **state)
{
    static const char *const broken[] = {"", "/", "/a", "//a", "a/", "a//b", "a//", ".", "..",
        "./a", "../a", "a/.", "a/..", "a/./b", "a/../b", "a/b/..", "../../etc/passwd", "...//x",
        "/../x"};

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(judge(broken[i]), NAME_BROKEN);
}

static void lengths(void **state)
{
    char name[NAME_MAX_BYTES + 8];

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(judge_bytes(name, NAME_COMPONENT_MAX_BYTES, 32), NAME_GOOD);
    assert_int_equal(judge_bytes(name, NAME_COMPONENT_MAX_BYTES + 1, 32), NAME_TOO_LONG);
    for (size_t i = 200; i < sizeof(name); i += 200)
        name[i] = '/';
    assert_int_equal(judge_bytes(name, NAME_MAX_BYTES, 32), NAME_GOOD);
    assert_int_equal(judge_bytes(name, NAME_MAX_BYTES + 1, 32), NAME_TOO_LONG);
    /* A long component in the middle counts as well, and a broken rule goes before length. */
    memset(name, 'x', sizeof(name));
    name[1] = '/';
    name[258] = '/';
    assert_int_equal(judge_bytes(name, 300, 32), NAME_TOO_LONG);
    name[258] = 'x';
    memcpy(name + NAME_MAX_BYTES, "/..", 3);
    assert_int_equal(judge_bytes(name, NAME_MAX_BYTES + 3, 32), NAME_BROKEN);
}

static void depths(void **state)
{
    char name[2 * NAME_DEPTH_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = i % 2 ? '/' : 'd';
    assert_int_equal(judge_bytes(name, 1, 0), NAME_TOO_DEEP);
    assert_int_equal(judge_bytes(name, 1, 1), NAME_GOOD);
    assert_int_equal(judge_bytes(name, 2 * 32 - 1, 32), NAME_GOOD);
    assert_int_equal(judge_bytes(name, 2 * 33 - 1, 32), NAME_TOO_DEEP);
    assert_int_equal(judge_bytes(name, 2 * NAME_DEPTH_MAX - 1, UINT32_MAX), NAME_GOOD);
    assert_int_equal(judge_bytes(name, 2 * NAME_DEPTH_MAX + 1, UINT32_MAX), NAME_TOO_DEEP);
}

static void broken_names_are_escaped_in_messages(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(name_judge((const uint8_t *)"/\x1b[2J", 5, 32, &err), NAME_BROKEN);
    assert_null(strchr(err.text, 0x1b));
    assert_non_null(strstr(err.text, "\\x1b[2J"));
}

static bool is_plain(const char *component)
{
    return component_is_plain((const uint8_t *)component, strlen(component));
}

static void components_that_are_not_plain(void **state)
{
    static const char *const plain[] = {
        "a", "a b", "caf\xc3\xa9", "\xe2\x82\xac", "-", "\"'", "\xf0\x9f\x98\x80", "\xc2\xa0"};
    static const char *const not_plain[] = {"a\nb", "a\tb", "\x01", "\x1b[0m", "\x7f", "\xc2\x85",
        "\xe2\x80\xae!gnp.exe", "a\xe2\x81\xa6", "\xff", "\xc3", "a\xe2\x82", "\xed\xa0\x80",
        "\xc0\xaf", "\xd8\x9c"};

    (void)state;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        assert_true(is_plain(plain[i]));
    for (size_t i = 0; i < sizeof(not_plain) / sizeof(not_plain[0]); i++)
        assert_false(is_plain(not_plain[i]));
}

static void components_end_at_slashes(void **state)
{
    (void)state;
    assert_int_equal(name_component((const uint8_t *)"ab/c", 4), 2);
    assert_int_equal(name_component((const uint8_t *)"abc", 3), 3);
    assert_int_equal(name_component((const uint8_t *)"/", 1), 0);
    assert_int_equal(name_component((const uint8_t *)"", 0), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(paths_are_good),
    cmocka_unit_test(traversal_is_broken),
    cmocka_unit_test(lengths),
    cmocka_unit_test(depths),
    cmocka_unit_test(broken_names_are_escaped_in_messages),
    cmocka_unit_test(components_that_are_not_plain),
    cmocka_unit_test(components_end_at_slashes),
};

UNIT_MAIN(tests)
