/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: vmm/supervisor/terminal_filter.c vmm/base/text.c vmm/base/err.c */
/* terminal_filter_test.c: nothing reaches a terminal that could command it, however it is cut. */
#include <string.h>

#include "supervisor/terminal_filter.h"
#include "tests/unit/unit.h"

/* IN, given in pieces of PIECE bytes, comes out as EXPECTED. */
static void assert_filtered_in(const char *in, size_t piece, const char *expected)
{
    struct terminal_filter filter = {.pending_count = 0};
    uint8_t out[4096];
    size_t used = 0, size = strlen(in);

    for (size_t at = 0; at < size; at += piece) {
        size_t count = piece < size - at ? piece : size - at;

        used += terminal_filter(&filter, (const uint8_t *)in + at, count, out + used);
    }
    used += terminal_filter(&filter, NULL, 0, out + used);
    out[used] = '\0';
    assert_string_equal(out, expected);
}

static void assert_filtered(const char *in, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(in); piece++)
        assert_filtered_in(in, piece, expected);
}

static void text_passes(void **state)
{
    (void)state;
    assert_filtered("a line\n\ttabbed ~\n", "a line\n\ttabbed ~\n");
    assert_filtered(
        "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_filtered(
        "\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf", "\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf");
}

static void controls_do_not(void **state)
{
    (void)state;
    assert_filtered("a\033[2Jb", "a\\x1b[2Jb");
    assert_filtered("a\rb\ac\b\177", "a\\x0db\\x07c\\x08\\x7f");
    assert_filtered("\xc2\x9b"
                    "31m",
        "\\xc2\\x9b31m");                               /* C1 control in UTF-8 */
    assert_filtered("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
    assert_filtered("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* isolate */
    assert_filtered("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* line separator */
}

static void broken_utf8_does_not(void **state)
{
    (void)state;
    assert_filtered("\x9b"
                    "31m",
        "\\x9b31m");
    assert_filtered("\xc3", "\\xc3");
    assert_filtered("\xc3(", "\\xc3(");
    assert_filtered("\xe2\x82", "\\xe2\\x82");
    assert_filtered("\xe2\x82\033", "\\xe2\\x82\\x1b");
    assert_filtered("\xf0\x9f\x98x", "\\xf0\\x9f\\x98x");
    assert_filtered("\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80");
    assert_filtered("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(text_passes),
    cmocka_unit_test(controls_do_not),
    cmocka_unit_test(broken_utf8_does_not),
};

UNIT_MAIN(tests)
