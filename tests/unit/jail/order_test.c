/* SPDX-License-Identifier: Apache-2.0 */
/* order_test.c: orders and words as they are sent, and what else may arrive. */
#include "jail/order.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

static int ends[2] = {-1, -1};

static int set_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    return jail_channel(ends, &err);
}

static int tear_down(void **state)
{
    (void)state;
    fd_close(&ends[0]);
    fd_close(&ends[1]);
    return 0;
}

static void an_order_arrives_as_it_was(void **state)
{
    struct jail_order sent = {.kind = JAIL_ROOT, .uid = 0xfffffffe, .gid = 7, .debug = true};
    struct jail_order got;
    struct err err = ERR_INIT;

    (void)state;
    sent.limit_count = JAIL_LIMITS_MAX;
    for (uint32_t i = 0; i < JAIL_LIMITS_MAX; i++)
        sent.limits[i] = (struct jail_limit){.resource = i, .value = UINT64_MAX - i};
    assert_int_equal(jail_send_order(ends[0], &sent, &err), 0);
    assert_int_equal(jail_receive_order(ends[1], &got, &err), 0);
    assert_true(got.kind == JAIL_ROOT && got.uid == 0xfffffffe && got.gid == 7 && got.debug);
    assert_int_equal(got.limit_count, JAIL_LIMITS_MAX);
    for (uint32_t i = 0; i < JAIL_LIMITS_MAX; i++)
        assert_true(got.limits[i].resource == i && got.limits[i].value == UINT64_MAX - i);
}

static void an_order_that_never_comes_is_no_failed_call(void **state)
{
    struct jail_order got;
    struct err err = ERR_INIT;

    (void)state;
    fd_close(&ends[0]);
    errno = EACCES; /* of an earlier call */
    assert_int_equal(jail_receive_order(ends[1], &got, &err), -1);
    assert_int_equal(err.errnum, 0);
    assert_non_null(strstr(err.text, "the supervisor is gone"));
}

static void an_order_that_is_cut_or_too_long_is_refused(void **state)
{
    const struct jail_order sent = {.kind = JAIL_USER, .limit_count = 1};
    struct jail_order got;
    uint8_t bytes[256];
    struct err err = ERR_INIT;
    ssize_t size;

    (void)state;
    assert_int_equal(jail_send_order(ends[0], &sent, &err), 0);
    size = read(ends[1], bytes, sizeof(bytes));
    assert_true(size > 0);
    for (ssize_t cut = 1; cut <= size + 1; cut++) {
        err = (struct err)ERR_INIT;
        assert_int_equal(send(ends[0], bytes, (size_t)cut, 0), cut);
        assert_int_equal(jail_receive_order(ends[1], &got, &err), cut == size ? 0 : -1);
    }
    bytes[13] = JAIL_LIMITS_MAX + 1;
    assert_int_equal(send(ends[0], bytes, (size_t)size, 0), size);
    assert_int_equal(jail_receive_order(ends[1], &got, &err), -1);
    bytes[13] = 1;
    bytes[0] = JAIL_ROOT + 1;
    assert_int_equal(send(ends[0], bytes, (size_t)size, 0), size);
    assert_int_equal(jail_receive_order(ends[1], &got, &err), -1);
}

static void words_arrive_with_number_and_text(void **state)
{
    struct jail_message message;
    struct err err = ERR_INIT;
    char text[700];

    (void)state;
    assert_int_equal(jail_say(ends[0], JAIL_REFUSED, 59, NULL), 0);
    assert_int_equal(jail_hear(ends[1], &message, &err), 1);
    assert_true(message.word == JAIL_REFUSED && message.number == 59 && message.text[0] == '\0');
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(jail_say(ends[0], JAIL_FAILED, 0, text), 0);
    assert_int_equal(jail_hear(ends[1], &message, &err), 1);
    assert_int_equal(strlen(message.text), sizeof(message.text) - 1);
}

static void other_words_and_the_end_are_told_apart(void **state)
{
    static const uint8_t unknown[] = {JAIL_REFUSED + 1, 0, 0, 0, 0};
    struct jail_message message;
    uint8_t longest[600] = {JAIL_FAILED};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(send(ends[0], unknown, sizeof(unknown), 0), sizeof(unknown));
    assert_int_equal(jail_hear(ends[1], &message, &err), -1);
    assert_int_equal(send(ends[0], unknown, 4, 0), 4);
    assert_int_equal(jail_hear(ends[1], &message, &err), -1);
    assert_int_equal(send(ends[0], longest, sizeof(longest), 0), sizeof(longest));
    assert_int_equal(jail_hear(ends[1], &message, &err), -1);
    assert_int_equal(fd_set_nonblocking(ends[1], &err), 0);
    assert_int_equal(jail_hear(ends[1], &message, &err), -1);
    assert_int_equal(err.errnum, EAGAIN);
    fd_close(&ends[0]);
    assert_int_equal(jail_hear(ends[1], &message, &err), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_order_arrives_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_order_that_is_cut_or_too_long_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_order_that_never_comes_is_no_failed_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_arrive_with_number_and_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_words_and_the_end_are_told_apart, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
