/* SPDX-License-Identifier: Apache-2.0 */
/* escape_test.c: what a terminal gets, whole and split at every place. */
#include <string.h>

#include "base/text.h"
#include "base/escape.h"
#include "tests/unit/unit.h"

/* Escape SIZE bytes in pieces of STEP, then flush. */
static size_t escape_in_steps(const uint8_t *in, size_t size, size_t step, uint8_t *out)
{
    struct escape escape = {0};
    size_t used = 0;

    for (size_t at = 0; at < size; at += step)
        used += escape_put(&escape, in + at, size - at < step ? size - at : step, out + used);
    used += escape_flush(&escape, out + used);
    assert_int_equal(escape.carry_bytes, 0);
    return used;
}

static void check(const char *in, const char *right)
{
    uint8_t out[1024];

    for (size_t step = 1; step <= strlen(in) + 1; step++) {
        size_t used = escape_in_steps((const uint8_t *)in, strlen(in), step, out);

        assert_int_equal(used, strlen(right));
        assert_memory_equal(out, right, used);
    }
}

static void text_passes_unchanged(void **state)
{
    (void)state;
    check("", "");
    check("hello\tworld\n", "hello\tworld\n");
    check("back\\slash ~", "back\\slash ~");
    check("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n",
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n");
}

static void controls_are_shown(void **state)
{
    (void)state;
    check("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m");
    check("\x1b]0;title\x07", "\\x1b]0;title\\x07");
    check("a\rb\r\n", "a\\x0db\\x0d\n");
    check("\x7f\x08", "\\x7f\\x08");
    check("\xc2\x9b"
          "31m \xc2\xa0",
        "\\xc2\\x9b31m \xc2\xa0");
    check("\xe2\x80\xae"
          "fdp.exe",
        "\\xe2\\x80\\xaefdp.exe");
    check("\xe2\x81\xa6\xd8\x9c", "\\xe2\\x81\\xa6\\xd8\\x9c");
}

static void bad_utf8_is_shown(void **state)
{
    (void)state;
    check("\x80x", "\\x80x");
    check("\xc3", "\\xc3");
    check("\xc3(", "\\xc3(");
    check("\xe2\x82", "\\xe2\\x82");
    check("\xe2\x82x", "\\xe2\\x82x");
    check("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
    check("\xf0\x9f\x98\xc3\xbc", "\\xf0\\x9f\\x98\xc3\xbc");
    check("\xed\xa0\x80", "\\xed\\xa0\\x80");
    check("\xc0\xaf", "\\xc0\\xaf");
    check("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    check("\xff\xfe", "\\xff\\xfe");
    check("\xc3\xc3\xbc", "\\xc3\xc3\xbc");
    check("\xf0\xf0\x9f\x98\x80", "\\xf0\xf0\x9f\x98\x80");
}

static void nul_is_shown(void **state)
{
    uint8_t out[64];

    (void)state;
    assert_int_equal(escape_in_steps((const uint8_t *)"a\0b", 3, 1, out), 6);
    assert_memory_equal(out, "a\\x00b", 6);
}

/* What comes out is always UTF-8 without controls, wherever the input is split. */
static void every_pair_of_bytes_is_safe_and_unsplit(void **state)
{
    (void)state;
    for (unsigned int pair = 0; pair < 65536; pair++) {
        const uint8_t in[] = {(uint8_t)(pair >> 8), (uint8_t)pair, 0xbf, 0x80, 'x'};
        uint8_t whole[64], split[64];
        size_t used = escape_in_steps(in, sizeof(in), sizeof(in), whole);

        assert_true(used <= ESCAPE_FACTOR * sizeof(in));
        for (size_t step = 1; step < sizeof(in); step++) {
            assert_int_equal(escape_in_steps(in, sizeof(in), step, split), used);
            assert_memory_equal(whole, split, used);
        }
        for (size_t at = 0; at < used;) {
            size_t length = text_utf8_length(whole + at, used - at);

            assert_true(length > 0);
            assert_true(whole[at] == '\n' || whole[at] == '\t' ||
                        !text_utf8_is_control(whole + at, length));
            at += length;
        }
    }
}

static void check_line(size_t size, const char *in, const char *right)
{
    char out[64];

    escape_line(out, size, in);
    assert_string_equal(out, right);
}

static void a_line_is_one_line_and_fits(void **state)
{
    (void)state;
    check_line(64, "", "");
    check_line(64, "a\\x0a\tb", "a\\x0a\tb"); /* what is escaped already stays */
    check_line(64, "a\nb\x7f\xc2\x9b\x1b[2J", "a\\x0ab\\x7f\\xc2\\x9b\\x1b[2J");
    check_line(64, "caf\xc3\xa9 \xc3", "caf\xc3\xa9 \\xc3");
    check_line(8, "abcd", "abcd"); /* inside, at, one past */
    check_line(8, "abcde", "abcd...");
    check_line(8, "abc\xc3\xa9", "abc...");
    check_line(8, "\x7f", "\\x7f");
    check_line(8, "a\x7f", "a...");
    check_line(4, "a", "...");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(text_passes_unchanged),
    cmocka_unit_test(controls_are_shown),
    cmocka_unit_test(bad_utf8_is_shown),
    cmocka_unit_test(nul_is_shown),
    cmocka_unit_test(a_line_is_one_line_and_fits),
    cmocka_unit_test(every_pair_of_bytes_is_safe_and_unsplit),
};

UNIT_MAIN(tests)
