/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: see session.h: streams, messages and their order. Output and input are in flow.c. */
#include "monitor/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "monitor/flow.h"

static void session_over(struct session *session, const struct ipc_ended *ended)
{
    if (session->phase >= SESSION_OVER)
        return;
    session->phase = SESSION_OVER;
    session->ended(session->context, ended);
}

void session_end(struct session *session, uint32_t cause, const char *text)
{
    struct ipc_ended ended = {.cause = cause};

    text_copy(ended.text, sizeof(ended.text), text);
    session_over(session, &ended);
}

static void session_broken(struct session *session, const char *rule)
{
    session_end(session, IPC_END_PROTOCOL, rule);
}

/* ---- to the agent: the job, then perhaps a cancel ---- */

static void session_send(struct session *session)
{
    uint8_t cancel[WIRE_HEADER_BYTES];

    if (!session->control)
        return;
    if (session->job_sent < session->job_bytes)
        session->job_sent += vsock_send(session->control, session->job + session->job_sent,
            session->job_bytes - session->job_sent);
    if (session->job_sent < session->job_bytes || !session->cancel_wanted)
        return;
    wire_put_header(cancel, sizeof(cancel), WIRE_CANCEL, 0);
    if (session->cancel_sent < sizeof(cancel))
        session->cancel_sent += vsock_send(
            session->control, cancel + session->cancel_sent, sizeof(cancel) - session->cancel_sent);
}

void session_cancel(struct session *session)
{
    session->cancel_wanted = true;
    if (session->phase == SESSION_WORKING)
        session_send(session);
}

/* ---- from the agent: one message at a time ---- */

static void session_hello(struct session *session, const uint8_t *payload, size_t size)
{
    struct wire_hello hello;
    struct err err = ERR_INIT;

    if (session->phase != SESSION_BOOTING) {
        session_broken(session, "HELLO came twice");
    } else if (!session->outputs[0].stream || !session->outputs[1].stream || !session->input) {
        session_broken(session, "HELLO came before the streams were open");
    } else if (wire_get_hello(payload, size, &hello, &err) < 0) {
        session_broken(session, err.text);
    } else if (ipc_send_wire(session->ipc_fd, IPC_HELLO, payload, size, &err) < 0) {
        session_end(session, IPC_END_HOST, err.text);
    } else {
        session->phase = SESSION_WORKING;
        session_send(session);
        flow_input_start(session);
    }
}

/* STARTED, EXITED and EXPORTED: valid, in order, passed on. */
static void session_progress(
    struct session *session, const struct wire_header *header, const uint8_t *payload)
{
    union {
        struct wire_started started;
        struct wire_exited exited;
        struct wire_exported exported;
    } value;
    enum session_phase due = SESSION_WORKING, next = SESSION_WORKING;
    enum ipc_kind kind = IPC_STARTED;
    struct err err = ERR_INIT;
    int result;

    if (header->type == WIRE_STARTED) {
        result = wire_get_started(payload, header->length, &value.started, &err);
    } else if (header->type == WIRE_EXITED) {
        result = wire_get_exited(payload, header->length, &value.exited, &err);
        kind = IPC_EXITED;
        next = SESSION_EXITED;
    } else {
        result = wire_get_exported(payload, header->length, &value.exported, &err);
        kind = IPC_EXPORTED;
        due = SESSION_EXITED;
        next = SESSION_EXPORTED;
    }
    if (result < 0) {
        session_broken(session, err.text);
    } else if (session->job_sent < session->job_bytes) {
        session_broken(session, "a message came out of order, before the job was sent");
    } else if (session->phase != due || (kind == IPC_STARTED && session->started)) {
        session_broken(session, "a message came out of order");
    } else if (ipc_send_wire(session->ipc_fd, kind, payload, header->length, &err) < 0) {
        session_end(session, IPC_END_HOST, err.text);
    } else {
        session->phase = next;
        session->started |= kind == IPC_STARTED;
    }
}

static void session_fatal(struct session *session, const uint8_t *payload, size_t size)
{
    struct ipc_ended ended = {.cause = IPC_END_FATAL};
    struct wire_fatal fatal;
    struct err err = ERR_INIT;

    if (wire_get_fatal(payload, size, &fatal, &err) < 0) {
        session_broken(session, err.text);
        return;
    }
    ended.detail[0] = fatal.error;
    text_copy(ended.text, sizeof(ended.text), fatal.text);
    session_over(session, &ended);
}

static void session_message(
    struct session *session, const struct wire_header *header, const uint8_t *payload)
{
    switch (header->type) {
    case WIRE_HELLO:
        session_hello(session, payload, header->length);
        break;
    case WIRE_STARTED:
    case WIRE_EXITED:
    case WIRE_EXPORTED:
        session_progress(session, header, payload);
        break;
    case WIRE_FATAL:
        session_fatal(session, payload, header->length);
        break;
    default:
        session_broken(session, "the agent sent a message that only the host sends");
        break;
    }
    if (session->phase == SESSION_EXPORTED)
        flow_finish(session);
}

/* Take bytes of the control stream until WANTED of the message are there. False: not yet. */
static bool message_fill(struct session *session, size_t wanted)
{
    const uint8_t *bytes;

    while (session->message_bytes < wanted) {
        size_t count =
            size_min(vsock_peek(session->control, &bytes), wanted - session->message_bytes);

        if (count == 0)
            return false;
        memcpy(session->message + session->message_bytes, bytes, count);
        session->message_bytes += count;
        vsock_consume(session->control, count);
    }
    return true;
}

static void session_read_messages(struct session *session)
{
    struct wire_header header;
    struct err err = ERR_INIT;

    while (session->phase != SESSION_OVER && message_fill(session, WIRE_HEADER_BYTES)) {
        if (wire_get_header(session->message, WIRE_GUEST_PAYLOAD_MAX, &header, &err) < 0) {
            session_broken(session, err.text);
            return;
        }
        if (!message_fill(session, WIRE_HEADER_BYTES + header.length))
            return;
        session->message_bytes = 0;
        session_message(session, &header, session->message + WIRE_HEADER_BYTES);
    }
}

/* ---- streams ---- */

/*
 * Guest vsock is open to every process of the guest. The agent opens its streams before it says
 * HELLO, from ports that only root may use; whoever comes later, or from elsewhere, is reset.
 */
static bool session_accept(
    void *context, struct vsock_stream *stream, uint32_t host_port, uint32_t guest_port)
{
    struct session *session = context;

    if (session->phase != SESSION_BOOTING || guest_port >= WIRE_SOURCE_PORT_LIMIT)
        return false;
    if (host_port < WIRE_PORT_CONTROL || host_port > WIRE_PORT_STDIN ||
        session->ports_used[host_port])
        return false;
    session->ports_used[host_port] = true;
    if (host_port == WIRE_PORT_CONTROL)
        session->control = stream;
    else if (host_port == WIRE_PORT_STDIN)
        session->input = stream;
    else
        session->outputs[host_port - WIRE_PORT_STDOUT].stream = stream;
    return true;
}

static struct session_output *session_output_of(
    struct session *session, const struct vsock_stream *stream)
{
    for (size_t i = 0; i < 2; i++) {
        if (session->outputs[i].stream == stream)
            return &session->outputs[i];
    }
    return NULL;
}

static void session_received(void *context, struct vsock_stream *stream)
{
    struct session *session = context;
    struct session_output *output = session_output_of(session, stream);
    const uint8_t *bytes;

    if (output)
        flow_output(output);
    else if (session->phase >= SESSION_OVER)
        return;
    else if (stream == session->control)
        session_read_messages(session);
    else
        vsock_consume(stream, vsock_peek(stream, &bytes)); /* nothing is due on stdin */
}

static void session_writable(void *context, struct vsock_stream *stream)
{
    struct session *session = context;

    if (session->phase >= SESSION_OVER)
        return;
    if (stream == session->control)
        session_send(session);
    else if (stream == session->input)
        flow_input(session);
}

static void session_closed(void *context, struct vsock_stream *stream, uint32_t flags)
{
    struct session *session = context;
    struct session_output *output = session_output_of(session, stream);

    if (session->phase >= SESSION_OVER)
        return;
    if (flags & VSOCK_CLOSED_RULE) {
        session_broken(session, vsock_stream_fault(stream));
    } else if (stream == session->control) {
        session_read_messages(session); /* FATAL may be what came last */
        if (session->phase < SESSION_EXPORTED)
            session_broken(session, "the agent closed its control stream");
    } else if (output && (flags & VSOCK_CLOSED_SEND)) {
        flow_output_closed(output);
    } else if (stream == session->input && (flags & VSOCK_CLOSED_RECEIVE)) {
        flow_input_closed(session);
    }
}

static const struct vsock_ops session_vsock_ops = {
    .accept = session_accept,
    .received = session_received,
    .writable = session_writable,
    .closed = session_closed,
};

/* ---- the machine is gone ---- */

void session_drain(struct session *session)
{
    session->phase = SESSION_DRAINING;
    loop_remove(session->loop, &session->stdin_source);
    for (size_t i = 0; i < 2; i++)
        flow_output(&session->outputs[i]);
}

bool session_is_drained(const struct session *session)
{
    const uint8_t *bytes;

    for (size_t i = 0; i < 2; i++) {
        const struct session_output *output = &session->outputs[i];

        if (output->stream && vsock_peek(output->stream, &bytes) > 0)
            return false;
    }
    return true;
}

/* The whole WIRE_JOB message, ready to be sent. */
static int session_read_job(struct session *session, int job_fd, uint64_t size, struct err *err)
{
    if (size == 0 || size > WIRE_JOB_MAX_BYTES)
        return err_set(err, "the job has %llu bytes", (unsigned long long)size);
    session->job = malloc(WIRE_HEADER_BYTES + size);
    if (!session->job)
        return err_set(err, "out of memory for the job");
    wire_put_header(session->job, WIRE_HEADER_BYTES, WIRE_JOB, (uint32_t)size);
    if (fd_pread_all(job_fd, session->job + WIRE_HEADER_BYTES, size, 0) != (ssize_t)size)
        return err_set(err, "the job cannot be read");
    session->job_bytes = WIRE_HEADER_BYTES + size;
    return 0;
}

int session_init(struct session *session, const struct session_options *options, struct err *err)
{
    const int output_fds[2] = {options->stdout_fd, options->stderr_fd};

    memset(session, 0, sizeof(*session));
    session->loop = options->loop;
    session->ipc_fd = options->ipc_fd;
    session->ended = options->ended;
    session->context = options->context;
    session->has_stdin = options->has_stdin;
    session->stdin_fd = options->stdin_fd;
    session->stdin_source.fd = -1;
    for (size_t i = 0; i < 2; i++) {
        session->outputs[i].session = session;
        session->outputs[i].fd = output_fds[i];
        session->outputs[i].source.fd = -1;
    }
    if (session_read_job(session, options->job_fd, options->job_bytes, err) < 0)
        return -1;
    session->vsock = vsock_make(WIRE_GUEST_CID, &session_vsock_ops, session, options->mem, err);
    return session->vsock ? 0 : -1;
}

void session_fini(struct session *session)
{
    for (size_t i = 0; i < 2; i++)
        loop_remove(session->loop, &session->outputs[i].source);
    loop_remove(session->loop, &session->stdin_source);
    vsock_free(session->vsock);
    session->vsock = NULL;
    free(session->job);
    session->job = NULL;
}
