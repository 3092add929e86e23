/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that obeys the protocol, and agents that do not. The vsock device is a fake of this
 * file. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "ipc/ipc.h"
#include "monitor/session.h"

/* ---- the fake device: streams are byte queues ---- */

struct vsock_stream {
    uint8_t in[1 << 16]; /* from the guest */
    size_t in_used, in_done;
    uint8_t out[1 << 16]; /* to the guest */
    size_t out_used, out_room;
    bool shut;
};

static const struct vsock_ops *fake_ops;
static void *fake_context;
static struct vsock_stream streams[8];
static uint8_t fake_device;

struct vsock *vsock_make(uint32_t guest_cid, const struct vsock_ops *ops, void *context,
    const struct guest_mem *mem, struct err *err)
{
    (void)guest_cid;
    (void)mem;
    (void)err;
    fake_ops = ops;
    fake_context = context;
    return (struct vsock *)&fake_device;
}

void vsock_free(struct vsock *vsock)
{
    (void)vsock;
}

size_t vsock_peek(const struct vsock_stream *stream, const uint8_t **bytes)
{
    *bytes = stream->in + stream->in_done;
    return stream->in_used - stream->in_done;
}

void vsock_consume(struct vsock_stream *stream, size_t count)
{
    assert_true(count <= stream->in_used - stream->in_done);
    stream->in_done += count;
}

size_t vsock_send(struct vsock_stream *stream, const void *bytes, size_t size)
{
    size_t count = size_min(size, stream->out_room);

    assert_false(stream->shut);
    memcpy(stream->out + stream->out_used, bytes, count);
    stream->out_used += count;
    stream->out_room -= count;
    return count;
}

void vsock_shutdown(struct vsock_stream *stream)
{
    stream->shut = true;
}

void vsock_close(struct vsock_stream *stream)
{
    (void)stream;
}

const char *vsock_stream_fault(const struct vsock_stream *stream)
{
    (void)stream;
    return "a rule of vsock";
}

/* ---- one session, with the test at all its ends ---- */

static struct {
    struct loop loop;
    struct session session;
    int ipc[2];
    int out[2], err[2], in[2];
    int job;
    bool ended;
    struct ipc_ended end;
} t;

static void on_end(void *context, const struct ipc_ended *ended)
{
    (void)context;
    assert_false(t.ended);
    t.ended = true;
    t.end = *ended;
}

static void start(bool has_stdin)
{
    struct session_options options;
    struct err err = ERR_INIT;

    memset(&t, 0, sizeof(t));
    memset(streams, 0, sizeof(streams));
    for (size_t i = 0; i < 8; i++)
        streams[i].out_room = sizeof(streams[i].out);
    assert_int_equal(loop_init(&t.loop, &err), 0);
    assert_int_equal(ipc_channel(t.ipc, &err), 0);
    assert_int_equal(pipe2(t.out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(t.err, O_CLOEXEC), 0);
    assert_int_equal(pipe2(t.in, O_CLOEXEC), 0);
    t.job = memfd_create("job", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(t.job, "the job", 7), 0);
    options = (struct session_options){.loop = &t.loop,
        .ipc_fd = t.ipc[0],
        .job_fd = t.job,
        .stdout_fd = t.out[1],
        .stderr_fd = t.err[1],
        .stdin_fd = t.in[0],
        .has_stdin = has_stdin,
        .ended = on_end};
    assert_int_equal(session_init(&t.session, &options, &err), 0);
}

static void finish(void)
{
    int *fds[] = {&t.ipc[0], &t.ipc[1], &t.out[0], &t.out[1], &t.err[0], &t.err[1], &t.in[0],
        &t.in[1], &t.job};

    session_fini(&t.session);
    loop_fini(&t.loop);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        fd_close(fds[i]);
}

static bool dial(uint32_t port, uint32_t source)
{
    return fake_ops->accept(fake_context, &streams[port], port, source);
}

static void dial_all(void)
{
    for (uint32_t port = WIRE_PORT_CONTROL; port <= WIRE_PORT_STDIN; port++)
        assert_true(dial(port, 1000 + port));
}

static void guest_sends(uint32_t port, const void *bytes, size_t size)
{
    memcpy(streams[port].in + streams[port].in_used, bytes, size);
    streams[port].in_used += size;
    fake_ops->received(fake_context, &streams[port]);
}

static void say_hello(void)
{
    uint8_t bytes[256];
    const struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_hello(bytes, sizeof(bytes), &hello));
}

static void say_exited(void)
{
    uint8_t bytes[512];
    const struct wire_exited exited = {.how = WIRE_HOW_EXITED, .code = 3};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_exited(bytes, sizeof(bytes), &exited));
}

static void say_exported(void)
{
    uint8_t bytes[256];
    const struct wire_exported exported = {.files = 1};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_exported(bytes, sizeof(bytes), &exported));
}

static void close_outputs(void)
{
    fake_ops->closed(fake_context, &streams[WIRE_PORT_STDOUT], VSOCK_CLOSED_SEND);
    fake_ops->closed(fake_context, &streams[WIRE_PORT_STDERR], VSOCK_CLOSED_SEND);
}

static void due(enum ipc_kind kind)
{
    struct ipc_record record;
    struct err err = ERR_INIT;

    assert_int_equal(ipc_receive(t.ipc[1], &record, &err), 1);
    assert_int_equal(record.kind, kind);
}

static void ended_with(enum ipc_end cause)
{
    assert_true(t.ended);
    assert_int_equal(t.end.cause, cause);
    finish();
}

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
    cmocka_unit_test(a_cancel_follows_the_job),
    cmocka_unit_test(stdin_is_read_no_faster_than_it_is_taken),
};

UNIT_MAIN(tests)
