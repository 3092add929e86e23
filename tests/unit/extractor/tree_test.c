/* SPDX-License-Identifier: Apache-2.0 */
/* tree_test.c: every name has one place, no two share one, and directories come first. */
#include <stdio.h>
#include <string.h>

#include "extractor/tree.h"
#include "tests/unit/unit.h"

static struct tree *tree;
static struct tree_place place;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    tree = tree_make(100, &err);
    return tree ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tree_free(tree);
    return 0;
}

static int add(const char *name, bool is_dir)
{
    err = (struct err)ERR_INIT;
    return tree_add(tree, (const uint8_t *)name, strlen(name), is_dir, &place, &err);
}

/* NAME is exported as PATH, its last component as ALIAS when that is not "". */
static void expect(const char *name, bool is_dir, const char *path, const char *alias)
{
    assert_int_equal(add(name, is_dir), 0);
    assert_string_equal(place.path, path);
    assert_string_equal(place.alias, alias);
}

static void refuse(const char *name, bool is_dir, const char *rule)
{
    assert_int_equal(add(name, is_dir), -1);
    assert_int_equal(err.errnum, 0);
    assert_non_null(strstr(err.text, rule));
}

static void plain_names_stay_as_they_are(void **state)
{
    (void)state;
    expect("a", true, "a", "");
    expect("a/b", true, "a/b", "");
    expect("a/b/c.txt", false, "a/b/c.txt", "");
    expect("b", false, "b", "");
    expect("a/b/caf\xc3\xa9", false, "a/b/caf\xc3\xa9", "");
}

static void directories_come_first(void **state)
{
    (void)state;
    refuse("a/b", false, "not declared");
    expect("a", true, "a", "");
    refuse("a/b/c", false, "not declared");
    expect("f", false, "f", "");
    refuse("f/x", false, "not declared"); /* a file is no directory */
    refuse("A/b", false, "not declared"); /* names are bytes: A is not a */
    expect("a/b", false, "a/b", "");
}

static void names_are_there_once(void **state)
{
    (void)state;
    expect("a", false, "a", "");
    refuse("a", false, "twice");
    refuse("a", true, "twice");
    expect("d", true, "d", "");
    refuse("d", false, "twice");
    refuse("d", true, "twice");
    expect("\x01", false, "f-1", "f-1");
    refuse("\x01", false, "twice");
}

static void known_directories_are_known(void **state)
{
    (void)state;
    expect("a", true, "a", "");
    expect("a/f", false, "a/f", "");
    assert_true(tree_has_dir(tree, (const uint8_t *)"a", 1));
    assert_false(tree_has_dir(tree, (const uint8_t *)"b", 1));
    assert_false(tree_has_dir(tree, (const uint8_t *)"a/f", 3));
    assert_false(tree_has_dir(tree, (const uint8_t *)"x/a", 3));
}

static void case_collisions_get_another_name(void **state)
{
    (void)state;
    expect("README", false, "README", "");
    expect("readme", false, "f-1", "f-1");
    expect("ReadMe", false, "f-2", "f-2");
    expect("Data", true, "Data", "");
    expect("data", true, "f-3", "f-3");
    expect("data/x", false, "f-3/x", "");
    expect("Data/x", false, "Data/x", "");
    expect("Data/X", false, "Data/f-4", "f-4");
    expect("data/README", false, "f-3/README", ""); /* another directory, no collision */
}

static void names_that_are_not_plain_get_another_name(void **state)
{
    (void)state;
    expect("a\nb", true, "f-1", "f-1");
    expect("a\nb/c", true, "f-1/c", "");
    expect("a\nb/c/\xff", false, "f-1/c/f-2", "f-2");
    expect("a\nb/c/\xe2\x80\xae", true, "f-1/c/f-3", "f-3");
    expect("a\nb/c/\xe2\x80\xae/ok", false, "f-1/c/f-3/ok", "");
}

/* A task may call its own file f-1: whoever comes second gets another one. */
static void aliases_never_meet_a_real_name(void **state)
{
    (void)state;
    expect("f-1", false, "f-1", "");
    expect("F-2", false, "F-2", "");
    expect("\x01", false, "f-3", "f-3");
    expect("f-3", false, "f-4", "f-4");
    expect("f-4", false, "f-5", "f-5");
    expect("f-6", false, "f-6", "");
    expect("\x02", false, "f-7", "f-7");
}

static void the_deepest_and_longest_name_fits(void **state)
{
    char name[2 * NAME_DEPTH_MAX + NAME_MAX_BYTES];
    size_t used = 0;

    (void)state;
    tree_free(tree);
    tree = tree_make(2 * NAME_DEPTH_MAX, &err);
    assert_non_null(tree);
    for (int i = 0; i < NAME_DEPTH_MAX; i++) {
        if (i > 0)
            name[used++] = '/';
        name[used++] = '\x01';
        name[used] = '\0';
        assert_int_equal(add(name, true), 0);
    }
    assert_true(strlen(place.path) < sizeof(place.path));
    assert_non_null(strstr(place.path, "f-127/f-128"));
}

static void it_holds_as_many_as_it_was_made_for(void **state)
{
    char name[32];

    (void)state;
    tree_free(tree);
    tree = tree_make(TREE_ENTRIES_MAX, &err);
    assert_non_null(tree);
    for (int i = 0; i < TREE_ENTRIES_MAX; i++) {
        snprintf(name, sizeof(name), i % 2 ? "n%d" : "N%d\x7f", i);
        assert_int_equal(add(name, false), 0);
    }
    assert_string_equal(place.path, "n65535");
    refuse("n65535", false, "twice");
    refuse("N0\x7f", false, "twice");
}

static void none_is_possible_too(void **state)
{
    struct tree *empty = tree_make(0, &err);

    (void)state;
    assert_non_null(empty);
    assert_false(tree_has_dir(empty, (const uint8_t *)"a", 1));
    tree_free(empty);
    tree_free(NULL);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    TREE_TEST(plain_names_stay_as_they_are),
    TREE_TEST(directories_come_first),
    TREE_TEST(names_are_there_once),
    TREE_TEST(known_directories_are_known),
    TREE_TEST(case_collisions_get_another_name),
    TREE_TEST(names_that_are_not_plain_get_another_name),
    TREE_TEST(aliases_never_meet_a_real_name),
    TREE_TEST(the_deepest_and_longest_name_fits),
    TREE_TEST(it_holds_as_many_as_it_was_made_for),
    TREE_TEST(none_is_possible_too),
};

UNIT_MAIN(tests)
