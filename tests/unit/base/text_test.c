/* SPDX-License-Identifier: Apache-2.0 */
/* text_test.c: hostile bytes become text for people; UTF-8 as RFC 3629 has it. */
#include <string.h>

#include "base/text.h"
#include "tests/unit/unit.h"

static void copies_are_cut_and_terminated(void **state)
{
    char to[4];

    (void)state;
    assert_true(text_copy(to, sizeof(to), "abc"));
    assert_string_equal(to, "abc");
    assert_false(text_copy(to, sizeof(to), "abcd"));
    assert_string_equal(to, "abc");
    assert_true(text_copy(to, 1, ""));
    assert_string_equal(to, "");
    assert_false(text_copy(to, 1, "a"));
    assert_string_equal(to, "");
}

static void every_byte_is_escaped_to_printable_ascii(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        uint8_t in = (uint8_t)byte;
        char to[16];

        text_escape(to, sizeof(to), &in, 1);
        assert_true(strlen(to) >= 1 && strlen(to) <= 4);
        for (size_t i = 0; to[i]; i++)
            assert_true(to[i] >= 0x20 && to[i] < 0x7f);
    }
}

static void escapes_look_as_promised(void **state)
{
    char to[64];

    (void)state;
    text_escape(to, sizeof(to), "a\n\r\t\\\x1b\x7f\xff ~", 10);
    assert_string_equal(to, "a\\n\\r\\t\\\\\\x1b\\x7f\\xff ~");
    text_escape(to, sizeof(to), "", 0);
    assert_string_equal(to, "");
    text_escape(to, sizeof(to), "a\0b", 3);
    assert_string_equal(to, "a\\x00b");
}

/* An escape is never cut in its middle, and the end is always marked and terminated. */
static void long_text_is_cut(void **state)
{
    uint8_t in[64];

    (void)state;
    memset(in, 0x01, sizeof(in));
    for (size_t size = 8; size < 40; size++) {
        char to[40];
        size_t length;

        memset(to, '!', sizeof(to));
        text_escape(to, size, in, sizeof(in));
        length = strlen(to);
        assert_true(length < size);
        assert_int_equal((length - 3) % 4, 0);
        assert_string_equal(to + length - 3, "...");
        for (size_t i = size; i < sizeof(to); i++)
            assert_int_equal(to[i], '!');
    }
}

static void hex_digits(void **state)
{
    static const uint8_t bytes[] = {0x00, 0x9a, 0xff};
    char to[7];

    (void)state;
    text_hex(to, bytes, sizeof(bytes));
    assert_string_equal(to, "009aff");
    text_hex(to, bytes, 0);
    assert_string_equal(to, "");
}

static size_t utf8_encode(uint32_t point, uint8_t out[4])
{
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xc0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xe0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (point & 0x3f));
    return 4;
}

static void every_code_point_is_recognised(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x110fff; point++) {
        bool valid = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        uint8_t bytes[4];
        size_t length = utf8_encode(point, bytes);

        assert_int_equal(text_utf8_length(bytes, length), valid ? length : 0);
        for (size_t cut = 0; cut < length; cut++)
            assert_int_equal(text_utf8_length(bytes, cut), 0);
    }
}

static void bad_sequences_are_refused(void **state)
{
    static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2\x41",
        "\xe0\x9f\xbf", "\xe2\x82\x41", "\xe2\x41\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff\xff\xff\xff", "\xf0\x9f\x98\xc0"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(text_utf8_length((const uint8_t *)bad[i], strlen(bad[i])), 0);
}

/* Unicode 15, PropList.txt: Bidi_Control. */
static bool point_is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x061c || point == 0x200e ||
           point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void exactly_the_controls_are_controls(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        uint8_t bytes[4];
        size_t length = utf8_encode(point, bytes);

        if (text_utf8_length(bytes, length) == length)
            assert_int_equal(text_utf8_is_control(bytes, length), point_is_control(point));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(copies_are_cut_and_terminated),
    cmocka_unit_test(every_byte_is_escaped_to_printable_ascii),
    cmocka_unit_test(escapes_look_as_promised),
    cmocka_unit_test(long_text_is_cut),
    cmocka_unit_test(hex_digits),
    cmocka_unit_test(every_code_point_is_recognised),
    cmocka_unit_test(bad_sequences_are_refused),
    cmocka_unit_test(exactly_the_controls_are_controls),
};

UNIT_MAIN(tests)
