/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/session_rig.c */
/* An agent that obeys the protocol, and agents that do not. */
#include "tests/unit/monitor/session_rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

static void a_whole_run(void **state)
{
    char text[16] = "";

    (void)state;
    start(false);
    dial_all();
    say_hello();
    due(IPC_HELLO);
    assert_true(streams[WIRE_PORT_STDIN].shut);
    assert_int_equal(streams[WIRE_PORT_CONTROL].out_used, WIRE_HEADER_BYTES + 7);
    assert_memory_equal(streams[WIRE_PORT_CONTROL].out + WIRE_HEADER_BYTES, "the job", 7);
    guest_sends(WIRE_PORT_STDOUT, "hello", 5);
    say_exited();
    due(IPC_EXITED);
    close_outputs();
    assert_false(t.ended);
    say_exported();
    due(IPC_EXPORTED);
    assert_int_equal(read(t.out[0], text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
    ended_with(IPC_END_DONE);
}

static void messages_may_arrive_byte_by_byte(void **state)
{
    uint8_t bytes[256];
    const struct wire_hello hello = {.version = WIRE_VERSION};
    size_t size = wire_put_hello(bytes, sizeof(bytes), &hello);

    (void)state;
    start(false);
    dial_all();
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(streams[WIRE_PORT_CONTROL].out_used, 0);
        guest_sends(WIRE_PORT_CONTROL, bytes + i, 1);
    }
    due(IPC_HELLO);
    assert_int_equal(streams[WIRE_PORT_CONTROL].out_used, WIRE_HEADER_BYTES + 7);
    assert_false(t.ended);
    finish();
}

static void streams_are_accepted_once_and_early_and_from_privileged_ports(void **state)
{
    (void)state;
    start(false);
    assert_false(dial(WIRE_PORT_CONTROL, WIRE_SOURCE_PORT_LIMIT));
    assert_true(dial(WIRE_PORT_CONTROL, WIRE_SOURCE_PORT_LIMIT - 1));
    assert_false(dial(WIRE_PORT_CONTROL, 5));
    assert_false(dial(0, 5));
    assert_false(dial(WIRE_PORT_STDIN + 1, 5));
    assert_true(dial(WIRE_PORT_STDOUT, 5));
    assert_true(dial(WIRE_PORT_STDIN, 5));
    assert_true(dial(WIRE_PORT_STDERR, 5));
    say_hello();
    assert_false(dial(WIRE_PORT_STDOUT, 5));
    assert_false(t.ended);
    finish();
}

static void hello_needs_all_streams(void **state)
{
    (void)state;
    start(false);
    assert_true(dial(WIRE_PORT_CONTROL, 5));
    say_hello();
    ended_with(IPC_END_PROTOCOL);
}

static void hello_comes_once(void **state)
{
    (void)state;
    start(false);
    dial_all();
    say_hello();
    say_hello();
    ended_with(IPC_END_PROTOCOL);
}

static void started_comes_once(void **state)
{
    const struct wire_started started = {.setup_ns = 1};
    uint8_t bytes[64];
    size_t size = wire_put_started(bytes, sizeof(bytes), &started);

    (void)state;
    start(false);
    dial_all();
    say_hello();
    due(IPC_HELLO);
    guest_sends(WIRE_PORT_CONTROL, bytes, size);
    due(IPC_STARTED);
    assert_false(t.ended);
    guest_sends(WIRE_PORT_CONTROL, bytes, size);
    ended_with(IPC_END_PROTOCOL);
}

static void exported_comes_after_exited(void **state)
{
    (void)state;
    start(false);
    dial_all();
    say_hello();
    close_outputs();
    say_exported();
    ended_with(IPC_END_PROTOCOL);
}

static void exited_comes_after_hello_and_once(void **state)
{
    (void)state;
    start(false);
    dial_all();
    say_exited();
    ended_with(IPC_END_PROTOCOL);
    start(false);
    dial_all();
    say_hello();
    say_exited();
    say_exited();
    ended_with(IPC_END_PROTOCOL);
}

static void exported_comes_after_the_output(void **state)
{
    (void)state;
    start(false);
    dial_all();
    say_hello();
    say_exited();
    say_exported();
    ended_with(IPC_END_PROTOCOL);
}

static void garbage_and_host_messages_end_the_run(void **state)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    const uint8_t noise[WIRE_HEADER_BYTES] = {0xff, 0xff, 1, 0, 0, 0, 0, 0};

    (void)state;
    start(false);
    dial_all();
    guest_sends(WIRE_PORT_CONTROL, noise, sizeof(noise));
    ended_with(IPC_END_PROTOCOL);
    start(false);
    dial_all();
    wire_put_header(bytes, sizeof(bytes), WIRE_CANCEL, 0);
    guest_sends(WIRE_PORT_CONTROL, bytes, sizeof(bytes));
    ended_with(IPC_END_PROTOCOL);
    start(false);
    dial_all();
    wire_put_header(bytes, sizeof(bytes), WIRE_HELLO, WIRE_GUEST_PAYLOAD_MAX + 1);
    guest_sends(WIRE_PORT_CONTROL, bytes, sizeof(bytes));
    ended_with(IPC_END_PROTOCOL);
}

static void a_closed_control_stream_ends_the_run(void **state)
{
    (void)state;
    start(false);
    dial_all();
    say_hello();
    fake_ops->closed(fake_context, &streams[WIRE_PORT_CONTROL], VSOCK_CLOSED_SEND);
    ended_with(IPC_END_PROTOCOL);
}

static void fatal_is_passed_on(void **state)
{
    uint8_t bytes[512];
    const struct wire_fatal fatal = {.error = 5, .text = "no /task in the image"};

    (void)state;
    start(false);
    dial_all();
    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_fatal(bytes, sizeof(bytes), &fatal));
    assert_string_equal(t.end.text, "no /task in the image");
    assert_int_equal(t.end.detail[0], 5);
    ended_with(IPC_END_FATAL);
}

static void a_full_pipe_holds_back_the_guest_and_the_end(void **state)
{
    static uint8_t block[4096];
    size_t sent = 0, got = 0;
    ssize_t count;
    struct err err = ERR_INIT;

    (void)state;
    start(false);
    dial_all();
    say_hello();
    assert_int_equal(fcntl(t.out[1], F_SETPIPE_SZ, 4096), 4096);
    for (int i = 0; i < 4; i++) {
        guest_sends(WIRE_PORT_STDOUT, block, sizeof(block));
        sent += sizeof(block);
    }
    assert_int_equal(streams[WIRE_PORT_STDOUT].in_done, 4096);
    say_exited();
    close_outputs();
    say_exported();
    assert_false(t.ended);
    assert_int_equal(fd_set_nonblocking(t.out[0], &err), 0);
    while (!t.ended) {
        struct epoll_event event;

        while ((count = read(t.out[0], block, sizeof(block))) > 0)
            got += (size_t)count;
        assert_true(epoll_wait(t.loop.epoll_fd, &event, 1, 1000) == 1);
        t.session.outputs[0].source.ready(&t.session.outputs[0], event.events);
    }
    while ((count = read(t.out[0], block, sizeof(block))) > 0)
        got += (size_t)count;
    assert_int_equal(got, sent);
    ended_with(IPC_END_DONE);
}

/* An agent that has not got all of the job yet can only make up what became of it. */
static void nothing_is_said_of_a_job_that_is_not_sent(void **state)
{
    (void)state;
    for (size_t left = 0; left < 2; left++) {
        start(false);
        dial_all();
        streams[WIRE_PORT_CONTROL].out_room = WIRE_HEADER_BYTES + 7 - left;
        say_hello();
        due(IPC_HELLO);
        say_exited();
        assert_int_equal(t.ended, left > 0);
        if (left > 0)
            assert_string_equal(t.end.text, "a message came out of order, before the job was sent");
        finish();
    }
}

static void a_cancel_follows_the_job(void **state)
{
    (void)state;
    start(false);
    dial_all();
    session_cancel(&t.session);
    assert_int_equal(streams[WIRE_PORT_CONTROL].out_used, 0);
    streams[WIRE_PORT_CONTROL].out_room = 3;
    say_hello();
    assert_int_equal(streams[WIRE_PORT_CONTROL].out_used, 3);
    streams[WIRE_PORT_CONTROL].out_room = 1000;
    fake_ops->writable(fake_context, &streams[WIRE_PORT_CONTROL]);
    assert_int_equal(
        streams[WIRE_PORT_CONTROL].out_used, WIRE_HEADER_BYTES + 7 + WIRE_HEADER_BYTES);
    assert_int_equal(
        le16_load(streams[WIRE_PORT_CONTROL].out + WIRE_HEADER_BYTES + 7), WIRE_CANCEL);
    assert_false(t.ended);
    finish();
}

static void stdin_is_read_no_faster_than_it_is_taken(void **state)
{
    struct vsock_stream *in = &streams[WIRE_PORT_STDIN];

    (void)state;
    start(true);
    dial_all();
    assert_int_equal(t.session.stdin_source.fd, -1);
    say_hello();
    assert_true(t.session.stdin_source.fd >= 0);
    assert_int_equal(write(t.in[1], "0123456789", 10), 10);
    in->out_room = 4;
    t.session.stdin_source.ready(&t.session, EPOLLIN);
    assert_int_equal(in->out_used, 4);
    assert_int_equal(t.session.stdin_source.fd, -1);
    in->out_room = 100;
    fake_ops->writable(fake_context, in);
    assert_memory_equal(in->out, "0123456789", 10);
    assert_true(t.session.stdin_source.fd >= 0);
    fd_close(&t.in[1]);
    t.session.stdin_source.ready(&t.session, EPOLLHUP);
    assert_true(in->shut);
    assert_int_equal(t.session.stdin_source.fd, -1);
    finish();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_whole_run),
    cmocka_unit_test(messages_may_arrive_byte_by_byte),
    cmocka_unit_test(streams_are_accepted_once_and_early_and_from_privileged_ports),
    cmocka_unit_test(hello_needs_all_streams),
    cmocka_unit_test(hello_comes_once),
    cmocka_unit_test(started_comes_once),
    cmocka_unit_test(exported_comes_after_exited),
    cmocka_unit_test(exited_comes_after_hello_and_once),
    cmocka_unit_test(exported_comes_after_the_output),
    cmocka_unit_test(garbage_and_host_messages_end_the_run),
    cmocka_unit_test(a_closed_control_stream_ends_the_run),
    cmocka_unit_test(fatal_is_passed_on),
    cmocka_unit_test(a_full_pipe_holds_back_the_guest_and_the_end),
    cmocka_unit_test(nothing_is_said_of_a_job_that_is_not_sent),
    cmocka_unit_test(a_cancel_follows_the_job),
    cmocka_unit_test(stdin_is_read_no_faster_than_it_is_taken),
};

UNIT_MAIN(tests)
