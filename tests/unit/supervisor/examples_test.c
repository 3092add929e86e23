/* SPDX-License-Identifier: Apache-2.0 */
/* examples_test.c: every task that the documentation shows is accepted as it stands there. */
#include "base/mem.h"
#include "base/text.h"
#include "supervisor/config.h"
#include "tests/unit/supervisor/pages.h"

#define README  "README.md"
#define EXAMPLE "tools/examples/csv-chart/task.ini"

/* The lines of the block behind line FROM, which is "```"; LAST becomes the number of its end. */
static char *block_text(size_t from, size_t *last)
{
    char *text = text_clone("", 0);
    size_t i = from + 1;

    for (; i < page.line_count && strcmp(page.lines[i], "```") != 0; i++) {
        char *longer = text_format("%s%s\n", text, page.lines[i]);

        free(text);
        text = longer;
    }
    assert_true(i < page.line_count);
    *last = i;
    return text;
}

/* In scdoc a backslash takes the next character as it is, in blocks too. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        *to++ = *at;
    }
    *to = '\0';
}

static void accept(const char *text)
{
    struct text_list sets = {0}, problems = {0};
    struct config *config = calloc(1, sizeof(*config));

    assert_non_null(config);
    config_parse(config, page.path, text, strlen(text), &sets, &problems);
    for (size_t i = 0; i < problems.count; i++)
        complain("in an example: %s", problems.items[i]);
    text_list_free(&problems);
    config_free(config);
    free(config);
}

static void the_task_of_readme_is_accepted(void **state)
{
    size_t tasks = 0;

    (void)state;
    page_read(README);
    for (size_t i = 0; i < page.line_count; i++) {
        AUTO_FREE char *text = NULL;

        if (strcmp(page.lines[i], "```ini") != 0)
            continue;
        text = block_text(i, &i);
        accept(text);
        tasks++;
    }
    assert_int_equal(tasks, 1);
    no_complaints();
}

/* The next line of *AT that says something; NULL at the end. */
static const char *next_statement(char **at)
{
    char *line;

    while ((line = strsep(at, "\n"))) {
        if (line[0] && line[0] != '#')
            return line;
    }
    return NULL;
}

/* What `make demo` runs is what README shows, comments aside. */
static void the_task_of_readme_is_the_example(void **state)
{
    AUTO_FREE char *shown = NULL;
    char *left, *right = page.text;
    const char *line;
    size_t last;

    (void)state;
    page_read(README);
    for (size_t i = 0; i < page.line_count && !shown; i++) {
        if (strcmp(page.lines[i], "```ini") == 0)
            shown = block_text(i, &last);
    }
    assert_non_null(shown);
    page_read(EXAMPLE);
    left = shown;
    while ((line = next_statement(&left))) {
        const char *other = next_statement(&right);

        assert_non_null(other);
        assert_string_equal(line, other);
    }
    assert_null(next_statement(&right));
}

static void the_tasks_of_the_manual_are_accepted(void **state)
{
    size_t tasks = 0;

    (void)state;
    page_read("doc/vmrun-task.5.scd");
    for (size_t i = 0; i < page.line_count; i++) {
        AUTO_FREE char *text = NULL;

        if (strcmp(page.lines[i], "```") != 0)
            continue;
        text = block_text(i, &i);
        unescape(text);
        if (text[0] != '[') { /* keys of [task] alone */
            char *whole = text_format("[image]\npath = i\n[task]\n%s", text);

            free(text);
            text = whole;
        }
        accept(text);
        tasks++;
    }
    assert_true(tasks >= 2);
    no_complaints();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_task_of_readme_is_accepted),
    cmocka_unit_test(the_task_of_readme_is_the_example),
    cmocka_unit_test(the_tasks_of_the_manual_are_accepted),
};

UNIT_MAIN(tests)
