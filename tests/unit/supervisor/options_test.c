/* SPDX-License-Identifier: Apache-2.0 */
/* options_test.c: the command line: what is taken, what is refused, and that help fits a screen. */
#include <string.h>

#include "supervisor/options.h"
#include "tests/unit/unit.h"

static struct options options;
static struct err err;

/* The words of LINE, split at blanks. */
static int parse(const char *line)
{
    static char copy[512];
    char *argv[32] = {NULL};
    char name[] = "vmrun";
    int argc = 1;

    argv[0] = name;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    options_free(&options);
    err = (struct err)ERR_INIT;
    return options_parse(&options, argc, argv, &err);
}

static void refused(const char *line, const char *part)
{
    assert_int_equal(parse(line), -1);
    if (!strstr(err.text, part))
        fail_msg("%s: \"%s\" lacks \"%s\"", line, err.text, part);
}

static void a_run_takes_its_options(void **state)
{
    (void)state;
    assert_int_equal(parse("-c t.ini -o out -s a.b=c --set d.e=f --console -v"), 0);
    assert_string_equal(options.config, "t.ini");
    assert_string_equal(options.output, "out");
    assert_int_equal(options.sets.count, 2);
    assert_true(options.console && options.verbose && !options.quiet && !options.exit_status);
}

static void exit_code_has_two_words(void **state)
{
    (void)state;
    assert_int_equal(parse("-c t --exit-code=status"), 0);
    assert_true(options.exit_status);
    assert_int_equal(parse("-c t --exit-code task"), 0);
    assert_false(options.exit_status);
    refused("-c t --exit-code=x", "task or status");
}

static void what_stdout_is_is_said_once(void **state)
{
    (void)state;
    assert_int_equal(parse("-c t --events --timing"), 0);
    assert_true(options.events && options.timing && !options.json);
    refused("-c t --events --json", "one of them");
    refused("-c t --events --check", "without a run");
    refused("doctor --events", "without a run");
    assert_int_equal(parse("-c t --plan --check --json"), 0);
    assert_true(options.show == SHOW_PLAN && options.json);
    assert_int_equal(parse("doctor --json"), 0);
}

/* How to report an error is known even when the error stands before it. */
static void an_error_does_not_hide_the_options_behind_it(void **state)
{
    (void)state;
    refused("--cnfig t --exit-code=status", "did you mean --config");
    assert_true(options.exit_status);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refused("-x", "-x: unknown option");
    refused("-xq", "-x: unknown option");
    refused("-c t -qxv", "-x: unknown option");
    refused("--quiet=1 -c t", "--quiet=1: ");
    refused("--config", "--config: needs a value");
    refused("-c t -qo", "-qo: needs a value");
}

static void help_fits_a_screen(void **state)
{
    size_t lines = 0;

    (void)state;
    for (const char *at = options_help; *at; lines++) {
        const char *end = strchr(at, '\n');

        assert_true(end && end - at <= 80);
        at = end + 1;
    }
    assert_true(lines <= 40);
}

static int tear_down(void **state)
{
    (void)state;
    options_free(&options);
    return 0;
}

#define OPTIONS_TEST(test) cmocka_unit_test_teardown(test, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPTIONS_TEST(a_run_takes_its_options),
        OPTIONS_TEST(exit_code_has_two_words),
        OPTIONS_TEST(what_stdout_is_is_said_once),
        OPTIONS_TEST(an_error_does_not_hide_the_options_behind_it),
        OPTIONS_TEST(what_is_wrong_is_named),
        OPTIONS_TEST(help_fits_a_screen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
