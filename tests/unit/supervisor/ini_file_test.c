/* SPDX-License-Identifier: Apache-2.0 */
/* ini_file_test.c: what is read is exactly what is written; what could be misread is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ini_file.h"
#include "tests/unit/unit.h"

enum { LOG_BYTES = 2 * INI_LINE_MAX_BYTES };

static char heard[LOG_BYTES]; /* everything that the sink was told, one piece after another */

static void hear(const char *text)
{
    size_t used = strlen(heard);

    snprintf(heard + used, sizeof(heard) - used, "%s", text);
}

static void hear_section(void *context, unsigned line, const char *name)
{
    char head[100];

    (void)context;
    snprintf(head, sizeof(head), "%u[%s]", line, name);
    hear(head);
}

static void hear_pair(
    void *context, unsigned line, const char *section, const char *key, const char *value)
{
    char head[100];

    (void)context;
    snprintf(head, sizeof(head), "%u:%s.%s=", line, section, key);
    hear(head);
    hear(value);
    hear("|");
}

static void hear_problem(void *context, unsigned line, const char *text)
{
    char head[300];

    (void)context;
    snprintf(head, sizeof(head), "%u!%s|", line, text);
    hear(head);
}

static const char *read_bytes(const char *bytes, size_t size)
{
    struct ini_sink sink = {.section = hear_section, .pair = hear_pair, .problem = hear_problem};

    heard[0] = '\0';
    ini_file_read(bytes, size, &sink);
    return heard;
}

static const char *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void pairs_and_sections_come_with_their_lines(void **state)
{
    (void)state;
    assert_string_equal(
        read_text("# top\n\n[a]\nx = 1\n; note\ny=two words  \n[empty]\n[b]\nz =\n"),
        "3[a]4:a.x=1|6:a.y=two words|7[empty]8[b]9:b.z=|");
    assert_string_equal(read_text("[a]\nno = newline"), "1[a]2:a.no=newline|");
    assert_string_equal(read_text(""), "");
    assert_string_equal(read_text("[a]\nx = a=b:c\n"), "1[a]2:a.x=a=b:c|");
    assert_string_equal(read_text("[a]\nx = \"q\" 'r' \\s\n"), "1[a]2:a.x=\"q\" 'r' \\s|");
}

static void dos_line_ends_and_a_byte_order_mark_are_accepted(void **state)
{
    (void)state;
    assert_string_equal(read_text("\xef\xbb\xbf[a]\r\nx = 1\r\n"), "1[a]2:a.x=1|");
    assert_non_null(strstr(read_text("[a]\nx = 1\r2\n"), "2!a carriage return inside the line"));
}

static void a_comment_inside_a_value_is_refused_unless_escaped(void **state)
{
    (void)state;
    assert_non_null(strstr(read_text("[a]\nx = sh -c \"a ; b\"\n"), "2!a ';' after white space"));
    assert_non_null(strstr(read_text("[a]\nx = ;b\n"), "2!a ';' after white space"));
    assert_non_null(strstr(read_text("[a]\nx =;b\n"), "2!a ';' after white space"));
    assert_string_equal(read_text("[a]\nx = a \\; b;c \\;d\n"), "1[a]2:a.x=a ; b;c ;d|");
    assert_string_equal(read_text("[a]\nx = a\\;b\n"), "1[a]2:a.x=a\\;b|");
    assert_string_equal(read_text("[a]\nx = \\;\n"), "1[a]2:a.x=;|");
    assert_non_null(strstr(read_text("[a]\nx = 1 # one\n"), "2!a '#' after white space"));
    assert_non_null(strstr(read_text("[a]\nx =#f00\n"), "2!a '#' after white space"));
    assert_string_equal(read_text("[a]\nx = a \\# b;c# \\#d\n"), "1[a]2:a.x=a # b;c# #d|");
    assert_string_equal(read_text("[a]\nx = a\\#b '#'\n"), "1[a]2:a.x=a\\#b '#'|");
}

static void lines_that_inih_would_bend_are_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(read_text("[a]\nx = 1\n  2\n"), "3!the line is indented"));
    assert_non_null(strstr(read_text("[a]\n\tx = 1\n"), "2!the line is indented"));
    assert_non_null(strstr(read_text("[a]\nx : y = 1\n"), "2!a ':' before the '='"));
    assert_non_null(strstr(read_text("[a]\nx\n"), "2!neither a [section]"));
    assert_non_null(strstr(read_text("[a]\n= 1\n"), "2!there is no key"));
    assert_non_null(strstr(read_text("x = 1\n"), "1!the key stands before any [section]"));
}

static void bad_sections_are_refused_and_their_keys_belong_to_nobody(void **state)
{
    (void)state;
    assert_string_equal(read_text("[a]\n[b\nx = 1\n[c]\ny = 2\n"),
        "1[a]2!the section has no closing ']'|4[c]5:c.y=2|");
    assert_non_null(strstr(read_text("[a] b\n"), "1!text after the ']'"));
    assert_non_null(strstr(read_text("[]\n"), "1!the section has no name"));
    assert_non_null(strstr(read_text("[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n"),
        "1!the name of the section is too long"));
    assert_string_equal(read_text("[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n"),
        "1[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]");
}

static void binary_bytes_are_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(read_bytes("[a]\nx = 1\0002\n", 12), "2!the line holds a NUL byte"));
    assert_non_null(
        strstr(read_text("[a]\nx = \033[2J\n"), "2!the line holds a control character"));
    assert_string_equal(read_text("[a]\nx = \xc3\xa9\tb\n"), "1[a]2:a.x=\xc3\xa9\tb|");
}

/* "x = " and LENGTH - 4 times 'v'. */
static const char *read_long(size_t length)
{
    char *text = malloc(length + 16);
    const char *result;

    assert_non_null(text);
    memcpy(text, "[a]\nx = ", 8);
    memset(text + 8, 'v', length - 4);
    memcpy(text + 4 + length, "\ny = 1\n", 8);
    result = read_text(text);
    free(text);
    return result;
}

static void long_lines_come_whole_or_not_at_all(void **state)
{
    (void)state;
    /* Debian's inih has 200 bytes for a line by default. */
    assert_int_equal(strlen(read_long(198)), strlen("1[a]2:a.x=|3:a.y=1|") + 194);
    assert_int_equal(strlen(read_long(5000)), strlen("1[a]2:a.x=|3:a.y=1|") + 4996);
    assert_int_equal(strlen(read_long(INI_LINE_MAX_BYTES)),
        strlen("1[a]2:a.x=|3:a.y=1|") + INI_LINE_MAX_BYTES - 4);
    assert_string_equal(read_long(INI_LINE_MAX_BYTES + 1),
        "1[a]2!the line is longer than 32768 bytes; split the value or move it into a "
        "file|3:a.y=1|");
}

static void every_problem_is_reported(void **state)
{
    const char *text = read_text("a = 1\n[b\n[c]\n d = 1\ne\nf = 1 ; g\n");

    (void)state;
    for (char line = '1'; line <= '6'; line++) {
        char mark[3] = {line, '!', '\0'};

        if (line != '3')
            assert_non_null(strstr(text, mark));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pairs_and_sections_come_with_their_lines),
    cmocka_unit_test(dos_line_ends_and_a_byte_order_mark_are_accepted),
    cmocka_unit_test(a_comment_inside_a_value_is_refused_unless_escaped),
    cmocka_unit_test(lines_that_inih_would_bend_are_refused),
    cmocka_unit_test(bad_sections_are_refused_and_their_keys_belong_to_nobody),
    cmocka_unit_test(binary_bytes_are_refused),
    cmocka_unit_test(long_lines_come_whole_or_not_at_all),
    cmocka_unit_test(every_problem_is_reported),
};

UNIT_MAIN(tests)
