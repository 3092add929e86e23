/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_test.c: doc/result.schema.json knows every status and limit of the verdict table, and no
 * other. Whether whole results are as it says is checked in tests/docs.
 */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "supervisor/verdict.h"
#include "tests/unit/unit.h"

#define SCHEMA "doc/result.schema.json"

static json_t *schema;

static int set_up(void **state)
{
    json_error_t error;

    (void)state;
    schema = json_load_file(SCHEMA, 0, &error);
    if (!schema)
        print_error("%s:%d: %s\n", SCHEMA, error.line, error.text);
    return schema ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

/* The words that FIELD can have. */
static const json_t *words_of(const char *field)
{
    const json_t *words =
        json_object_get(json_object_get(json_object_get(schema, "properties"), field), "enum");

    assert_true(json_is_array(words));
    return words;
}

static bool has_word(const json_t *words, const char *word)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *text = json_string_value(json_array_get(words, i));

        if (text && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

static void every_status_of_the_table_is_in_the_schema_and_no_other(void **state)
{
    const json_t *words = words_of("status");

    (void)state;
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        if (!has_word(words, verdict_rules[i].status))
            fail_msg("%s: status lacks %s", SCHEMA, verdict_rules[i].status);
    }
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        bool used = false;

        for (size_t j = 0; j < EVENT_COUNT; j++)
            used |= strcmp(verdict_rules[j].status, word) == 0;
        if (!used)
            fail_msg("%s: no event has the status %s", SCHEMA, word);
    }
}

static void every_limit_of_the_table_is_in_the_schema_and_no_other(void **state)
{
    const json_t *words = words_of("limit");
    const json_t *hits = json_object_get(
        json_object_get(
            json_object_get(json_object_get(schema, "properties"), "limits_hit"), "items"),
        "enum");

    (void)state;
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        const char *limit = verdict_rules[i].limit;

        if (limit && (!has_word(words, limit) || !has_word(hits, limit)))
            fail_msg("%s: limit or limits_hit lacks %s", SCHEMA, limit);
    }
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        bool used = !word; /* null: no limit */

        for (size_t j = 0; j < EVENT_COUNT; j++)
            used |= word && verdict_rules[j].limit && strcmp(verdict_rules[j].limit, word) == 0;
        if (!used)
            fail_msg("%s: no event has the limit %s", SCHEMA, word);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(
        every_status_of_the_table_is_in_the_schema_and_no_other, set_up, tear_down),
    cmocka_unit_test_setup_teardown(
        every_limit_of_the_table_is_in_the_schema_and_no_other, set_up, tear_down),
};

UNIT_MAIN(tests)
