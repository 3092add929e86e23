/* SPDX-License-Identifier: Apache-2.0 */
/* error_json_test.c: errors for programs: places apart from messages, always valid JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "supervisor/error_json.h"
#include "tests/unit/unit.h"

/* The first error of LINE, as "file|line|section|key|message". */
static void expect(const char *line, const char *joined)
{
    struct text_list errors = {0};
    char *text, *got;
    json_t *root, *error;

    text_list_add(&errors, line);
    text = error_json(&errors, "dir/t.ini", 125, false);
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "vmrun.errors/1");
    assert_int_equal(json_integer_value(json_object_get(root, "vmrun_exit_code")), 125);
    error = json_array_get(json_object_get(root, "errors"), 0);
#define TEXT(key)                                                                                  \
    (json_is_null(json_object_get(error, key)) ? "-"                                               \
                                               : json_string_value(json_object_get(error, key)))
    got = text_format("%s|%lld|%s|%s|%s", TEXT("file"),
        (long long)json_integer_value(json_object_get(error, "line")), TEXT("section"), TEXT("key"),
        TEXT("message"));
    assert_string_equal(got, joined);
    free(got);
    free(text);
    json_decref(root);
    text_list_free(&errors);
}

static void places_are_apart_from_messages(void **state)
{
    (void)state;
    expect(
        "dir/t.ini:4: [limits] wall: \"5\": a unit: x", "dir/t.ini|4|limits|wall|\"5\": a unit: x");
    expect("dir/t.ini:9: [taks]: unknown section", "dir/t.ini|9|taks|-|unknown section");
    expect("dir/t.ini: [task] command: missing", "dir/t.ini|0|task|command|missing");
    expect("dir/t.ini:2: the line is indented", "dir/t.ini|2|-|-|the line is indented");
    expect(
        "dir/t.ini: cannot open the task file: x", "dir/t.ini|0|-|-|cannot open the task file: x");
    expect("--set: [task] nme: unknown key", "--set|0|task|nme|unknown key");
    expect("output directory x: it exists", "-|0|-|-|output directory x: it exists");
}

static void a_line_that_is_not_utf8_is_escaped(void **state)
{
    (void)state;
    expect("x\xff: no", "-|0|-|-|x\\xff: no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_apart_from_messages),
        cmocka_unit_test(a_line_that_is_not_utf8_is_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
