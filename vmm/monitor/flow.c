/* SPDX-License-Identifier: Apache-2.0 */
/* flow.c: see flow.h. Runs in the monitor on the event loop; the bytes are the guest's or the
 * user's. */
#include "monitor/flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void flow_failed(struct session *session, const char *what)
{
    char text[IPC_TEXT_BYTES];

    snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
    session_end(session, IPC_END_HOST, text);
}

static void output_ready(void *context, uint32_t events)
{
    (void)events;
    flow_output(context);
}

/* Wait for room in the pipe, or stop waiting. */
static void output_wait(struct session_output *output, bool wait)
{
    struct session *session = output->session;
    struct err err = ERR_INIT;

    if (!wait) {
        loop_remove(session->loop, &output->source);
        return;
    }
    if (output->source.fd >= 0)
        return;
    output->source.ready = output_ready;
    output->source.context = output;
    if (loop_add(session->loop, &output->source, output->fd, EPOLLOUT, &err) < 0)
        session_end(session, IPC_END_HOST, err.text);
}

void flow_output(struct session_output *output)
{
    struct session *session = output->session;
    const uint8_t *bytes;
    size_t count;

    if (!output->stream || session->phase == SESSION_OVER)
        return;
    while ((count = vsock_peek(output->stream, &bytes)) > 0) {
        ssize_t written = write(output->fd, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN) {
            output_wait(output, true);
            return;
        }
        if (written < 0) {
            flow_failed(session, "cannot pass task output on to the scribe");
            output_wait(output, false);
            output->stream = NULL;
            return;
        }
        vsock_consume(output->stream, (size_t)written);
    }
    output_wait(output, false);
    if (session->phase == SESSION_DRAINING)
        loop_stop(session->loop);
    else if (output->finished)
        flow_finish(session);
}

void flow_output_closed(struct session_output *output)
{
    output->finished = true;
    flow_output(output);
}

void flow_finish(struct session *session)
{
    const uint8_t *bytes;

    if (session->phase != SESSION_EXPORTED)
        return;
    for (size_t i = 0; i < 2; i++) {
        if (!session->outputs[i].finished) {
            session_end(session, IPC_END_PROTOCOL, "EXPORTED came before the end of the output");
            return;
        }
        if (vsock_peek(session->outputs[i].stream, &bytes) > 0)
            return; /* flow_output() comes back here */
    }
    session_end(session, IPC_END_DONE, "");
}

static void input_ready(void *context, uint32_t events);

/*
 * Wait for the supervisor's pipe only while the stream has room: a source that waits for nothing
 * still reports a hang-up, over and over.
 */
static void input_wait(struct session *session, bool wait)
{
    struct err err = ERR_INIT;

    if (!wait) {
        loop_remove(session->loop, &session->stdin_source);
        return;
    }
    if (session->stdin_source.fd >= 0)
        return;
    session->stdin_source.ready = input_ready;
    session->stdin_source.context = session;
    if (loop_add(session->loop, &session->stdin_source, session->stdin_fd, EPOLLIN, &err) < 0)
        session_end(session, IPC_END_HOST, err.text);
}

static void input_stop(struct session *session)
{
    input_wait(session, false);
    session->has_stdin = false;
}

/* Send what is buffered. False: the stream has no room for all of it. */
static bool input_flush(struct session *session)
{
    session->stdin_sent += vsock_send(session->input, session->stdin_buffer + session->stdin_sent,
        session->stdin_used - session->stdin_sent);
    return session->stdin_sent == session->stdin_used;
}

static void input_ready(void *context, uint32_t events)
{
    struct session *session = context;
    ssize_t count = read(session->stdin_fd, session->stdin_buffer, sizeof(session->stdin_buffer));

    (void)events;
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count <= 0) { /* the end, or a pipe that cannot be read: the task reads end of file */
        vsock_shutdown(session->input);
        input_stop(session);
        return;
    }
    session->stdin_used = (size_t)count;
    session->stdin_sent = 0;
    input_wait(session, input_flush(session));
}

void flow_input_start(struct session *session)
{
    if (session->has_stdin)
        input_wait(session, true);
    else
        vsock_shutdown(session->input);
}

void flow_input(struct session *session)
{
    if (session->has_stdin && session->phase != SESSION_BOOTING && input_flush(session))
        input_wait(session, true);
}

void flow_input_closed(struct session *session)
{
    input_stop(session);
}
