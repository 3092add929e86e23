/* SPDX-License-Identifier: Apache-2.0 */
/* event_guard_test.c: what a scribe that was taken over could send instead of an event. */
#include <string.h>

#include "supervisor/event_guard.h"
#include "tests/unit/unit.h"

static void lines_as_they_should_be_pass(void **state)
{
    static const char *const lines[] = {"\"text\":\"\"", "\"text\":\"a\"", "\"b64\":\"\"",
        "\"text\":\"\\\"\\\\\\n\\t\\u001b\\u202e\"", "\"text\":\"\xf0\x9f\x98\x80\"",
        "\"b64\":\"AZaz09+/==\"", "\"cut\":true"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_true(event_guard_passes((const uint8_t *)lines[i], strlen(lines[i])));
}

static void everything_else_does_not(void **state)
{
    static const char *const lines[] = {"", "\"text\":\"", "\"text\":", "text", "\"cut\":true ",
        "\"cut\":false", "\"text\":\"a\",\"event\":\"done\"", "\"text\":\"a\"}\"",
        "\"text\":\"a\\\"", "\"text\":\"\\x\"", "\"text\":\"\\u12\"", "\"text\":\"\\u12G4\"",
        "\"text\":\"\\ud800\"", "\"text\":\"\\\\\"\"", "\"text\":\"\033[2J\"",
        "\"text\":\"\xc2\x9b\"", "\"text\":\"\xe2\x80\xae\"", "\"text\":\"\xff\"",
        "\"text\":\"\xc3\"", "\"b64\":\"a\\\"", "\"b64\":\"a b\"", "\"event\":\"done\"",
        "\"text\" :\"a\"", "{\"text\":\"a\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (event_guard_passes((const uint8_t *)lines[i], strlen(lines[i])))
            fail_msg("%s passes", lines[i]);
    }
    assert_false(event_guard_passes((const uint8_t *)"\"text\":\"\0\"", 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_as_they_should_be_pass),
        cmocka_unit_test(everything_else_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
