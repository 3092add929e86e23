/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_test.c: which file a command names, against a made-up file tree. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guest-agent/lookup.h"
#include "tests/unit/unit.h"

struct node {
    const char *path;
    int error;
};

static const struct node tree[] = {
    {"/bin/sh", 0},
    {"/bin/plain", EACCES},
    {"/usr/bin/sh", 0},
    {"/usr/bin/plain", 0},
    {"/file/sh", ENOTDIR},
    {"/secret/tool", EACCES},
    {"/task/run.sh", 0},
    {"./here", 0},
    {"sub/tool", 0},
};

static int probe(void *context, const char *path)
{
    (*(int *)context)++;
    for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
        if (strcmp(tree[i].path, path) == 0)
            return tree[i].error;
    }
    return ENOENT;
}

static char found[64];
static int probes;

static int look(const char *name, const char *path)
{
    probes = 0;
    memset(found, 0, sizeof(found));
    return lookup_command(name, path, probe, &probes, found, sizeof(found));
}

static void names_are_looked_for(void **state)
{
    (void)state;
    assert_int_equal(look("sh", "/nowhere:/bin:/usr/bin"), 0);
    assert_string_equal(found, "/bin/sh");
    assert_int_equal(probes, 2);
    assert_int_equal(look("sh", "/file:/usr/bin"), 0);
    assert_string_equal(found, "/usr/bin/sh");
    assert_int_equal(look("nothing", "/bin:/usr/bin"), ENOENT);
}

static void the_first_that_can_be_executed(void **state)
{
    (void)state;
    assert_int_equal(look("plain", "/bin:/usr/bin"), 0);
    assert_string_equal(found, "/usr/bin/plain");
    assert_int_equal(look("plain", "/bin:/nowhere"), EACCES);
    assert_int_equal(look("tool", "/secret"), EACCES);
}

static void a_slash_means_a_path(void **state)
{
    (void)state;
    assert_int_equal(look("/task/run.sh", "/bin"), 0);
    assert_string_equal(found, "/task/run.sh");
    assert_int_equal(look("sub/tool", "/bin"), 0);
    assert_string_equal(found, "sub/tool");
    assert_int_equal(look("/bin/plain", "/usr/bin"), EACCES);
    assert_int_equal(look("./nothing", "/bin"), ENOENT);
    assert_int_equal(probes, 1);
}

static void empty_directories_are_here(void **state)
{
    (void)state;
    assert_int_equal(look("here", "/bin:"), 0);
    assert_string_equal(found, "./here");
    assert_int_equal(look("here", ":/bin"), 0);
    assert_int_equal(look("here", "/usr/bin::/bin"), 0);
    assert_int_equal(look("here", ""), 0);
    assert_int_equal(look("here", "/bin"), ENOENT);
}

static void no_name(void **state)
{
    (void)state;
    assert_int_equal(look("", "/bin"), ENOENT);
    assert_int_equal(probes, 0);
}

static void too_long(void **state)
{
    char name[70];
    char edge[64 - 5]; /* "/bin/" and this and a terminator are one byte too many */

    (void)state;
    memset(name, 'x', sizeof(name));
    name[69] = '\0';
    assert_int_equal(look(name, "/bin"), ENOENT);
    assert_int_equal(probes, 0);
    name[0] = '/';
    assert_int_equal(look(name, "/bin"), ENAMETOOLONG);
    memset(edge, 'x', sizeof(edge));
    edge[58] = '\0';
    assert_int_equal(look(edge, "/bin"), ENOENT);
    assert_int_equal(probes, 1);
    /* A directory that is too long does not hide the next. */
    name[0] = 'x';
    snprintf(name + 60, 10, ":/bin");
    assert_int_equal(look("sh", name), 0);
}

static void the_path_of_an_environment(void **state)
{
    char other[] = "XPATH=/x", first[] = "PATH=/a", second[] = "PATH=/b";
    char *none[] = {other, NULL};
    char *some[] = {other, first, second, NULL};

    (void)state;
    assert_string_equal(lookup_path(none), LOOKUP_DEFAULT_PATH);
    assert_string_equal(lookup_path(some), "/a");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_looked_for),
        cmocka_unit_test(the_first_that_can_be_executed),
        cmocka_unit_test(a_slash_means_a_path),
        cmocka_unit_test(empty_directories_are_here),
        cmocka_unit_test(no_name),
        cmocka_unit_test(too_long),
        cmocka_unit_test(the_path_of_an_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
