/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: vmm/supervisor/event_guard.c -ljansson */
/*
 * event_test.c: output as lines of JSON: what they hold, that joined they are the output wherever
 * it was split, and that the supervisor takes every one of them.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "scribe/event.h"
#include "supervisor/event_guard.h"
#include "tests/unit/unit.h"

static struct event event;
static uint8_t line[IPC_EVENT_LINE_BYTES];
static uint8_t joined[1 << 20];
static size_t joined_bytes, text_lines, b64_lines;

static int set_up(void **state)
{
    (void)state;
    memset(&event, 0, sizeof(event));
    joined_bytes = text_lines = b64_lines = 0;
    return 0;
}

/* Check the line of SIZE bytes as the supervisor and a reader of JSON do; append what it holds. */
static void take(size_t size)
{
    static char object[IPC_EVENT_LINE_BYTES + 3];
    json_t *root, *value;

    if (size == 0)
        return;
    assert_true(size <= sizeof(line) && line[size - 1] == '\n');
    assert_null(memchr(line, '\n', size - 1));
    assert_true(event_guard_passes(line, size - 1));
    snprintf(object, sizeof(object), "{%.*s}", (int)(size - 1), (const char *)line);
    root = json_loads(object, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_object_size(root), 1);
    if ((value = json_object_get(root, "text"))) {
        text_lines++;
        memcpy(joined + joined_bytes, json_string_value(value), json_string_length(value));
        joined_bytes += json_string_length(value);
    } else {
        const char *digits = json_string_value(json_object_get(root, "b64"));
        int count =
            EVP_DecodeBlock(joined + joined_bytes, (const uint8_t *)digits, (int)strlen(digits));

        b64_lines++;
        assert_true(count >= 0);
        joined_bytes += (size_t)count;
        for (size_t i = strlen(digits); i > 0 && digits[i - 1] == '='; i--)
            joined_bytes--;
    }
    json_decref(root);
}

static void put(const void *bytes, size_t size)
{
    take(event_put(&event, bytes, size, line));
}

static void expect_line(const char *bytes, const char *expected)
{
    size_t size = event_put(&event, (const uint8_t *)bytes, strlen(bytes), line);

    if (size != strlen(expected) || memcmp(line, expected, size) != 0)
        fail_msg("%.*s where %s was due", (int)size, (const char *)line, expected);
    take(size);
}

static void text_is_text(void **state)
{
    (void)state;
    expect_line("hello\n", "\"text\":\"hello\\n\"\n");
    expect_line("a\"b\\c\t", "\"text\":\"a\\\"b\\\\c\\t\"\n");
    expect_line("\xc3\xa4\xf0\x9f\x98\x80", "\"text\":\"\xc3\xa4\xf0\x9f\x98\x80\"\n");
}

static void what_steers_a_terminal_is_escaped(void **state)
{
    (void)state;
    expect_line("\033[2J\r\x7f", "\"text\":\"\\u001b[2J\\u000d\\u007f\"\n");
    expect_line("\xc2\x9b\xe2\x80\xae\xe2\x80\xa8", "\"text\":\"\\u009b\\u202e\\u2028\"\n");
}

static void what_is_not_text_is_base64(void **state)
{
    (void)state;
    expect_line("a\xff", "\"b64\":\"Yf8=\"\n");
    expect_line("\xed\xa0\x80x", "\"b64\":\"7aCAeA==\"\n"); /* a surrogate */
    assert_int_equal(
        event_put(&event, (const uint8_t *)"a\0", 2, line), strlen("\"b64\":\"YQA=\"\n"));
}

/* Wherever the stream is split, no text line holds a part of a character. */
static void characters_are_never_split(void **state)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\n";
    size_t size = strlen(text);

    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second++) {
            set_up(state);
            put(text, first);
            put(text + first, second - first);
            put(text + second, size - second);
            assert_int_equal(event_flush(&event, line), 0);
            assert_int_equal(b64_lines, 0);
            assert_int_equal(joined_bytes, size);
            assert_memory_equal(joined, text, size);
        }
    }
}

static void a_character_that_never_ends_is_kept(void **state)
{
    (void)state;
    put("x\xf0\x9f\x98", 4);
    assert_int_equal(joined_bytes, 1);
    take(event_flush(&event, line));
    assert_int_equal(b64_lines, 1);
    assert_int_equal(joined_bytes, 4);
    assert_memory_equal(joined, "x\xf0\x9f\x98", 4);
    assert_int_equal(event_flush(&event, line), 0);
}

static void any_bytes_come_back(void **state)
{
    static uint8_t bytes[200000];
    unsigned int seed = 1;
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) /* one half binary, one half mostly text */
        bytes[i] = (uint8_t)(i % 20000 < 10000 ? rand_r(&seed) : " \xc3\xa4\n"[rand_r(&seed) % 4]);
    while (at < sizeof(bytes)) {
        size_t step = (size_t)rand_r(&seed) % EVENT_CHUNK_BYTES + 1;

        if (step > sizeof(bytes) - at)
            step = sizeof(bytes) - at;
        put(bytes + at, step);
        at += step;
    }
    take(event_flush(&event, line));
    assert_int_equal(joined_bytes, sizeof(bytes));
    assert_memory_equal(joined, bytes, sizeof(bytes));
    assert_true(b64_lines > 0);
}

/* The worst line that can be made still fits. */
static void the_longest_line_fits(void **state)
{
    static uint8_t bytes[EVENT_CHUNK_BYTES];

    (void)state;
    memset(bytes, 1, sizeof(bytes));
    put("\xf0\x90\x80", 3);
    put("\x80", 1);
    put("\xf0\x90\x80", 3);
    memset(bytes + 1, 1, sizeof(bytes) - 1);
    bytes[0] = 0x80;
    put(bytes, sizeof(bytes));
    assert_int_equal(joined_bytes, 4 + 3 + sizeof(bytes));
    assert_int_equal(b64_lines, 0);
}

static void a_cut_is_a_line(void **state)
{
    size_t size = event_cut(line);

    (void)state;
    assert_int_equal(line[size - 1], '\n');
    assert_true(event_guard_passes(line, size - 1));
}

#define EVENT_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EVENT_TEST(text_is_text),
        EVENT_TEST(what_steers_a_terminal_is_escaped),
        EVENT_TEST(what_is_not_text_is_base64),
        EVENT_TEST(characters_are_never_split),
        EVENT_TEST(a_character_that_never_ends_is_kept),
        EVENT_TEST(any_bytes_come_back),
        EVENT_TEST(the_longest_line_fits),
        EVENT_TEST(a_cut_is_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
