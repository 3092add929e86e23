/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_test.c: which paths a pattern means, lies above, and does not mean. */
#include <string.h>

#include "tests/unit/unit.h"
#include "wire/pattern.h"

static void names(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {{"a", "a", true}, {"a", "A", false}, {"a", "ab", false}, {"", "", true},
        {"*", "", true}, {"*", "abc", true}, {"*.png", "a.png", true},
        {"*.png", "a.png.txt", false}, {"*.png", ".png", false}, {".*", ".png", true},
        {"*", ".hidden", false}, {"?x", ".x", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
        {"a?c", "abbc", false},
        {"a?c",
            "a\xc3\xa9"
            "c",
            true},
        {"a??c",
            "a\xc3\xa9"
            "c",
            false},
        {"a?c",
            "a\xff"
            "c",
            true},
        {"a*b*c", "a--b--b--c", true}, {"a*b*c", "a--b--b--", false}, {"**", "x", true},
        {"[a]", "a", false}, {"[a]", "[a]", true}, {"*a", "aaaa", true},
        {"*\xa9", "\xc3\xa9", false}, {"\xc3*", "\xc3\xa9", false}, {"*\xc3*", "\xc3x", true},
        {"*\xc3*\xa9", "\xc3x\xc3\xa9", false}, {"\xc3\xa9*", "\xc3\xa9x", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (pattern_matches_name(cases[i].pattern, strlen(cases[i].pattern), cases[i].name,
                strlen(cases[i].name)) != cases[i].matches)
            fail_msg("case %zu: %s and %s", i, cases[i].pattern, cases[i].name);
    }
}

/* The pattern of the worst kind against a name of the worst kind ends soon. */
static void many_stars_end(void **state)
{
    char pattern[256], name[256];

    (void)state;
    for (int i = 0; i < 255; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[255] = '\0';
    memset(name, 'a', 254);
    name[254] = 'b';
    assert_false(pattern_matches_name(pattern, 254, name, 255));
}

static bool covers(const char *pattern, const char *path)
{
    return pattern_covers(pattern, path, strlen(path));
}

static bool leads(const char *pattern, const char *path)
{
    return pattern_leads(pattern, path, strlen(path));
}

static void paths(void **state)
{
    (void)state;
    assert_true(covers("out", "out") && covers("out", "out/a/b") && !covers("out", "outer"));
    assert_true(covers("*/x", "a/x") && covers("*/x", "a/x/y") && !covers("*/x", "a/y"));
    assert_true(!covers("*", ".git/x") && !covers("a/b", "a") && covers(".", "a/b"));
    assert_true(leads("a/b/c", "a") && leads("a/b/c", "a/b") && !leads("a/b/c", "a/b/c"));
    assert_true(leads("*/x", "q") && !leads("*/x", ".q") && !leads("a/b", "b") && !leads("a", "a"));
    assert_true(pattern_is_glob("a*", 2) && pattern_is_glob("?", 1) && !pattern_is_glob("a*", 1));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names),
    cmocka_unit_test(many_stars_end),
    cmocka_unit_test(paths),
};

UNIT_MAIN(tests)
