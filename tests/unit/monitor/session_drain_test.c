/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/session_rig.c */
/* session_drain_test.c: what a guest had written before it died arrives, and nothing else does. */
#include "tests/unit/monitor/session_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static struct vsock_stream *const output = &streams[WIRE_PORT_STDOUT];

/* In the stream, but not told: as in the packets that the device takes last. */
static void guest_has_sent(const void *bytes, size_t size)
{
    memcpy(output->in + output->in_used, bytes, size);
    output->in_used += size;
}

static void start_working(bool has_stdin)
{
    start(has_stdin);
    dial_all();
    say_hello();
    due(IPC_HELLO);
}

static void output_is_passed_on(void **state)
{
    char text[16] = "";

    (void)state;
    start_working(false);
    guest_has_sent("last ", 5);
    session_drain(&t.session);
    guest_sends(WIRE_PORT_STDOUT, "words", 5);
    assert_true(session_is_drained(&t.session));
    assert_int_equal(read(t.out[0], text, sizeof(text)), 10);
    assert_string_equal(text, "last words");
    assert_false(t.ended);
    finish();
}

/* A session that ended by itself has output left as well. */
static void output_before_a_broken_rule_is_passed_on(void **state)
{
    char text[16] = "";

    (void)state;
    start_working(false);
    say_hello();
    assert_true(t.ended);
    guest_sends(WIRE_PORT_STDOUT, "nothing is", 10);
    assert_int_equal(output->in_done, 0);
    session_drain(&t.session);
    assert_int_equal(read(t.out[0], text, sizeof(text)), 10);
    ended_with(IPC_END_PROTOCOL);
}

static void a_full_pipe_is_waited_for(void **state)
{
    static uint8_t block[8192];
    struct err err = ERR_INIT;

    (void)state;
    start_working(false);
    assert_int_equal(fcntl(t.out[1], F_SETPIPE_SZ, 4096), 4096);
    guest_has_sent(block, sizeof(block));
    session_drain(&t.session);
    assert_false(session_is_drained(&t.session));
    assert_int_equal(output->in_done, 4096);
    assert_int_equal(read(t.out[0], block, 4096), 4096);
    assert_int_equal(loop_run(&t.loop, &err), 0); /* it is stopped */
    assert_true(session_is_drained(&t.session));
    assert_int_equal(read(t.out[0], block, 4096), 4096);
    assert_int_equal(t.session.outputs[0].source.fd, -1);
    finish();
}

static void a_scribe_that_is_gone_is_not_waited_for(void **state)
{
    (void)state;
    start_working(false);
    signal(SIGPIPE, SIG_IGN);
    fd_close(&t.out[0]);
    guest_has_sent("x", 1);
    session_drain(&t.session);
    assert_true(session_is_drained(&t.session));
    assert_int_equal(t.session.outputs[0].source.fd, -1);
    assert_false(t.ended);
    finish();
}

static void messages_and_input_come_too_late(void **state)
{
    struct ipc_record record;
    struct err err = ERR_INIT;

    (void)state;
    start_working(true);
    assert_int_equal(write(t.in[1], "input", 5), 5);
    session_drain(&t.session);
    assert_int_equal(t.session.stdin_source.fd, -1);
    say_exited();
    say_hello(); /* a broken rule */
    fake_ops->writable(fake_context, &streams[WIRE_PORT_STDIN]);
    fake_ops->closed(fake_context, &streams[WIRE_PORT_CONTROL], VSOCK_CLOSED_SEND);
    assert_false(dial(WIRE_PORT_CONTROL, 5));
    assert_int_equal(streams[WIRE_PORT_STDIN].out_used, 0);
    assert_false(t.ended);
    assert_int_equal(fd_set_nonblocking(t.ipc[1], &err), 0);
    assert_int_equal(ipc_receive(t.ipc[1], &record, &err), -1); /* nothing */
    finish();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(output_is_passed_on),
    cmocka_unit_test(output_before_a_broken_rule_is_passed_on),
    cmocka_unit_test(a_full_pipe_is_waited_for),
    cmocka_unit_test(a_scribe_that_is_gone_is_not_waited_for),
    cmocka_unit_test(messages_and_input_come_too_late),
};

UNIT_MAIN(tests)
