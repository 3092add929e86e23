/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man_test.c: the manual pages say what the parsers do, both ways: every option, key and verdict is
 * there, with its range and default, and nothing else is.
 *
 * The tables are private to their files, so these are part of this test.
 */
#include "vmm/supervisor/config_keys.c"
#include "vmm/supervisor/options.c"

#include "supervisor/ini_file.h"
#include "supervisor/verdict.h"
#include "tests/unit/supervisor/pages.h"

#define PAGE_VMRUN "doc/vmrun.1.scd"
#define PAGE_TASK  "doc/vmrun-task.5.scd"

/* ---- options --------------------------------------------------------------------------------- */

/* How the entry of OPTION begins. */
static void option_heading(const struct option *option, char *to, size_t size)
{
    char letter[16] = "";

    if (option->val < 256)
        snprintf(letter, sizeof(letter), "*-%c*, ", option->val);
    snprintf(to, size, "%s*--%s*%s", letter, option->name,
        option->has_arg == required_argument ? " _" : "");
}

/* The option that LINE is the heading of; NULL when there is none. */
static const struct option *option_of(const char *line)
{
    for (const struct option *option = long_options; option->name; option++) {
        char heading[128];
        size_t length;

        option_heading(option, heading, sizeof(heading));
        length = strlen(heading);
        if (strncmp(line, heading, length) == 0 &&
            (option->has_arg == required_argument || line[length] == '\0'))
            return option;
    }
    return NULL;
}

static void every_option_is_in_the_page_and_no_other(void **state)
{
    size_t seen[64] = {0};
    bool inside = false;

    (void)state;
    page_read(PAGE_VMRUN);
    for (size_t i = 0; i < page.line_count; i++) {
        const char *line = page.lines[i];
        const struct option *option;

        if (strncmp(line, "# ", 2) == 0)
            inside = strcmp(line, "# OPTIONS") == 0;
        if (!inside || strncmp(line, "*-", 2) != 0)
            continue;
        option = option_of(line);
        if (!option)
            complain("line %zu: vmrun has no such option: %s", i + 1, line);
        else
            seen[option - long_options]++;
    }
    for (const struct option *option = long_options; option->name; option++) {
        char heading[128];

        option_heading(option, heading, sizeof(heading));
        if (seen[option - long_options] != 1)
            complain(
                "%zu entries under # OPTIONS begin with %s", seen[option - long_options], heading);
    }
    no_complaints();
}

/* The lines "  vmrun ..." above "Usage" of --help. */
static void the_examples_of_help_open_the_page(void **state)
{
    char help[sizeof(options_help)];
    char *rest = help;
    size_t examples = 0;

    (void)state;
    page_read(PAGE_VMRUN);
    memcpy(help, options_help, sizeof(help));
    *strstr(help, "Usage") = '\0';
    while (rest) {
        const char *line = strsep(&rest, "\n");
        char wanted[200];

        if (strncmp(line, "  vmrun ", 8) != 0)
            continue;
        snprintf(wanted, sizeof(wanted), "\n\t%s\n", line + 2);
        if (!strstr(page.text, wanted) ||
            strstr(page.text, wanted) > strstr(page.text, "# SYNOPSIS"))
            complain("the examples lack: %s", line + 2);
        examples++;
    }
    assert_true(examples >= 3);
    assert_true(strstr(page.text, "# EXAMPLES") < strstr(page.text, "# SYNOPSIS"));
    no_complaints();
}

static void the_range_of_jobs_is_the_one_of_the_code(void **state)
{
    char wanted[64];

    (void)state;
    page_read(PAGE_VMRUN);
    snprintf(wanted, sizeof(wanted), "at most _N_ at once, 1 to %d.", OPTIONS_JOBS_MAX);
    assert_non_null(strstr(page.text, wanted));
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void every_verdict_is_a_row_and_no_other(void **state)
{
    size_t rows = 0;

    (void)state;
    page_read(PAGE_VMRUN);
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        const struct verdict_rule *rule = &verdict_rules[i];
        char code[32], row[512];

        snprintf(code, sizeof(code), "%d", rule->code);
        snprintf(row, sizeof(row), "\n|  %s\n:  %s\n:  %s\n:  %s\n:  %d\n", rule->text,
            rule->status, rule->limit ? rule->limit : "-",
            rule->exit == EXIT_OF_TASK     ? "the task's"
            : rule->exit == EXIT_OF_SIGNAL ? "128 + signal"
                                           : code,
            rule->status_code);
        if (!strstr(page.text, row))
            complain("the table of # EXIT STATUS lacks this row:%s", row);
    }
    for (size_t i = 0; i < page.line_count; i++)
        rows += strncmp(page.lines[i], "|  ", 3) == 0;
    if (rows != EVENT_COUNT)
        complain("the table of # EXIT STATUS has %zu rows, there are %d events", rows, EVENT_COUNT);
    no_complaints();
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The name that the page gives to what the table calls "*". */
static const char *key_name(const struct config_key *row)
{
    if (strcmp(row->key, "*") != 0)
        return row->key;
    return strcmp(row->section, "env") == 0 ? "NAME" : "DESTINATION";
}

/* How the line below the heading of ROW begins; empty for keys with a parser of their own. */
static void key_type(const struct config_key *row, char *to, size_t size)
{
    char low[32], high[32];

    to[0] = '\0';
    if (row->parse == parse_size || row->parse == parse_memory) {
        value_size_text(low, row->min);
        value_size_text(high, row->max);
        snprintf(to, size, "Size, %s to %s", low, high);
    } else if (row->parse == parse_duration) {
        value_duration_text(low, row->min);
        value_duration_text(high, row->max);
        snprintf(to, size, "Duration, %s to %s", low, high);
    } else if (row->parse == parse_count) {
        snprintf(to, size, "Number, %llu to %llu", (unsigned long long)row->min,
            (unsigned long long)row->max);
    } else if (row->parse == parse_path) {
        snprintf(to, size, "Path");
    } else if (row->parse == parse_choice) {
        for (const struct config_word *word = row->words; word->word; word++) {
            size_t used = strlen(to);

            snprintf(to + used, size - used, "%s*%s*", used ? ", " : "One of ", word->word);
        }
    }
}

/* LINE is what the page says of type, range and default of ROW. */
static void key_check(const struct config_key *row, const char *line)
{
    char type[256], fallback[256] = "";
    size_t length = strlen(line);

    key_type(row, type, sizeof(type));
    if (line[0] != '\t' || strncmp(line + 1, type, strlen(type)) != 0 ||
        (type[0] && !strchr(".,", line[1 + strlen(type)])))
        complain("[%s] %s: \"%s\" should begin with \"%s\"", row->section, row->key, line, type);
    if (row->fallback)
        snprintf(fallback, sizeof(fallback), " Default: *%s*.", row->fallback);
    if (row->fallback
            ? length < strlen(fallback) || strcmp(line + length - strlen(fallback), fallback) != 0
            : strstr(line, "Default") != NULL)
        complain("[%s] %s: \"%s\" should end with \"%s\"", row->section, row->key, line,
            row->fallback ? fallback : "no default");
}

/* The row that the page's heading LINE, below [SECTION], is about. */
static const struct config_key *key_of(const char *section, const char *line)
{
    for (size_t i = 0; i < config_key_count; i++) {
        char heading[128];

        snprintf(heading, sizeof(heading), "*%s* = _", key_name(&config_keys[i]));
        if (strcmp(config_keys[i].section, section) == 0 &&
            strncmp(line, heading, strlen(heading)) == 0)
            return &config_keys[i];
    }
    return NULL;
}

static void every_key_is_in_the_page_and_no_other(void **state)
{
    size_t seen[CONFIG_KEYS_MAX] = {0};
    char section[64] = "";

    (void)state;
    page_read(PAGE_TASK);
    for (size_t i = 0; i + 1 < page.line_count; i++) {
        const char *line = page.lines[i];
        const struct config_key *row;

        if (strncmp(line, "## [", 4) == 0)
            snprintf(section, sizeof(section), "%.*s", (int)strcspn(line + 4, "]"), line + 4);
        else if (strncmp(line, "# ", 2) == 0)
            section[0] = '\0';
        if (!section[0] || line[0] != '*' || !strstr(line, "* = "))
            continue;
        row = key_of(section, line);
        if (!row) {
            complain("line %zu: [%s] has no such key: %s", i + 1, section, line);
            continue;
        }
        seen[row - config_keys]++;
        key_check(row, page.lines[i + 1]);
    }
    for (size_t i = 0; i < config_key_count; i++) {
        if (seen[i] != 1)
            complain("## [%s]: %zu entries begin with *%s* = _", config_keys[i].section, seen[i],
                key_name(&config_keys[i]));
    }
    no_complaints();
}

static void the_numbers_in_the_text_are_those_of_the_code(void **state)
{
    static const struct {
        const char *format;
        int number;
    } claims[] = {
        {"at most %d bytes long", INI_LINE_MAX_BYTES},
        {"At most %d words of", JOB_ARGS_MAX},
        {"words of %d bytes each", JOB_STRING_MAX_BYTES},
        {"at most %d bytes. Nothing is inherited", JOB_STRING_MAX_BYTES},
        {"at most %d MiB. Each of its lines", INI_FILE_MAX_BYTES >> 20},
        {"Text, 1 to %d of A-Z", CONFIG_NAME_MAX_BYTES},
        {"At most %d lines, none inside", CONFIG_INPUTS_MAX},
        {"paths below /task, at most %d.", JOB_COLLECTS_MAX},
    };

    (void)state;
    page_read(PAGE_TASK);
    /* Lines are broken at any blank. */
    for (char *at = page.text; *at; at++) {
        if (*at == '\n' && at[1] == '\t' && at[2])
            memmove(at + 1, at + 2, strlen(at + 2) + 1);
        *at = *at == '\n' ? ' ' : *at;
    }
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        char wanted[128];
        const char *cut = strchr(claims[i].format, '%');

        snprintf(wanted, sizeof(wanted), "%.*s%d%s", (int)(cut - claims[i].format),
            claims[i].format, claims[i].number, cut + 2);
        if (!strstr(page.text, wanted))
            complain("it should say \"%s\"", wanted);
    }
    no_complaints();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_option_is_in_the_page_and_no_other),
    cmocka_unit_test(the_examples_of_help_open_the_page),
    cmocka_unit_test(the_range_of_jobs_is_the_one_of_the_code),
    cmocka_unit_test(every_verdict_is_a_row_and_no_other),
    cmocka_unit_test(every_key_is_in_the_page_and_no_other),
    cmocka_unit_test(the_numbers_in_the_text_are_those_of_the_code),
};

UNIT_MAIN(tests)
