/* SPDX-License-Identifier: Apache-2.0 */
/* session_rig.c: see session_rig.h. */
#include "tests/unit/monitor/session_rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

/* ---- the fake device: streams are byte queues ---- */

const struct vsock_ops *fake_ops;
void *fake_context;
struct vsock_stream streams[8];
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

struct session_rig t;

static void on_end(void *context, const struct ipc_ended *ended)
{
    (void)context;
    assert_false(t.ended);
    t.ended = true;
    t.end = *ended;
}

void start(bool has_stdin)
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
    assert_int_equal(fd_set_nonblocking(t.out[1], &err), 0);
    assert_int_equal(fd_set_nonblocking(t.err[1], &err), 0);
    assert_int_equal(fd_set_nonblocking(t.in[0], &err), 0);
    t.job = memfd_create("job", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(t.job, "the job", 7), 0);
    options = (struct session_options){.loop = &t.loop,
        .ipc_fd = t.ipc[0],
        .job_fd = t.job,
        .job_bytes = 7,
        .stdout_fd = t.out[1],
        .stderr_fd = t.err[1],
        .stdin_fd = t.in[0],
        .has_stdin = has_stdin,
        .ended = on_end};
    assert_int_equal(session_init(&t.session, &options, &err), 0);
}

void finish(void)
{
    int *fds[] = {&t.ipc[0], &t.ipc[1], &t.out[0], &t.out[1], &t.err[0], &t.err[1], &t.in[0],
        &t.in[1], &t.job};

    session_fini(&t.session);
    loop_fini(&t.loop);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        fd_close(fds[i]);
}

bool dial(uint32_t port, uint32_t source)
{
    return fake_ops->accept(fake_context, &streams[port], port, source);
}

void dial_all(void)
{
    for (uint32_t port = WIRE_PORT_CONTROL; port <= WIRE_PORT_STDIN; port++)
        assert_true(dial(port, 1000 + port));
}

void guest_sends(uint32_t port, const void *bytes, size_t size)
{
    memcpy(streams[port].in + streams[port].in_used, bytes, size);
    streams[port].in_used += size;
    fake_ops->received(fake_context, &streams[port]);
}

void say_hello(void)
{
    uint8_t bytes[256];
    const struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_hello(bytes, sizeof(bytes), &hello));
}

void say_exited(void)
{
    uint8_t bytes[512];
    const struct wire_exited exited = {.how = WIRE_HOW_EXITED, .code = 3};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_exited(bytes, sizeof(bytes), &exited));
}

void say_exported(void)
{
    uint8_t bytes[256];
    const struct wire_exported exported = {.files = 1};

    guest_sends(WIRE_PORT_CONTROL, bytes, wire_put_exported(bytes, sizeof(bytes), &exported));
}

void close_outputs(void)
{
    fake_ops->closed(fake_context, &streams[WIRE_PORT_STDOUT], VSOCK_CLOSED_SEND);
    fake_ops->closed(fake_context, &streams[WIRE_PORT_STDERR], VSOCK_CLOSED_SEND);
}

void due(enum ipc_kind kind)
{
    struct ipc_record record;
    struct err err = ERR_INIT;

    assert_int_equal(ipc_receive(t.ipc[1], &record, &err), 1);
    assert_int_equal(record.kind, kind);
}

void ended_with(enum ipc_end cause)
{
    assert_true(t.ended);
    assert_int_equal(t.end.cause, cause);
    finish();
}
