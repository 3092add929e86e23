/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: the conversation with the agent (wire/wire.h) and the flow of task output and input.
 * Runs in the monitor on the event loop. Everything that comes over vsock is the guest's: a broken
 * rule ends the run with its name.
 */
#ifndef VMM_MONITOR_SESSION_H
#define VMM_MONITOR_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "ipc/ipc.h"
#include "monitor/guest_mem.h"
#include "monitor/virtio/vsock.h"
#include "wire/wire.h"

enum session_phase {
    SESSION_BOOTING,  /* until HELLO; the only phase in which streams are accepted */
    SESSION_WORKING,  /* the job is on its way, or the task runs */
    SESSION_EXITED,   /* EXITED has come */
    SESSION_EXPORTED, /* EXPORTED has come: only output that the scribe has not taken yet is left */
    SESSION_OVER,
    SESSION_DRAINING, /* the machine is gone: output that had come is passed on, nothing else */
};

/* One of stdout and stderr on its way from the guest to the scribe. */
struct session_output {
    struct session *session;
    struct vsock_stream *stream; /* NULL: not open (yet, or any more) */
    int fd;                      /* pipe to the scribe, non-blocking */
    struct loop_source source;   /* waits for room in the pipe */
    bool finished; /* the guest sends no more; the scribe may not have all of it yet */
};

struct session {
    struct loop *loop;
    int ipc_fd;
    struct vsock *vsock;
    enum session_phase phase;
    bool started; /* STARTED has come; a task that cannot be set up has none */
    /* The session is over, with this end; called once. */
    void (*ended)(void *context, const struct ipc_ended *ended);
    void *context;

    struct vsock_stream *control;
    bool ports_used[WIRE_PORT_STDIN + 1];
    size_t message_bytes; /* how much of `message` has arrived */
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];

    uint8_t *job; /* WIRE_JOB, header included */
    size_t job_bytes;
    size_t job_sent;
    bool cancel_wanted;
    size_t cancel_sent;

    struct session_output outputs[2]; /* stdout, stderr */

    struct vsock_stream *input;
    bool has_stdin;
    int stdin_fd;
    struct loop_source stdin_source;
    size_t stdin_used, stdin_sent;
    uint8_t stdin_buffer[16384];
};

struct session_options {
    struct loop *loop;
    int ipc_fd;
    int job_fd; /* memfd with the payload of WIRE_JOB */
    uint64_t job_bytes;
    int stdout_fd, stderr_fd, stdin_fd; /* non-blocking */
    bool has_stdin;
    const struct guest_mem *mem;
    void (*ended)(void *context, const struct ipc_ended *ended);
    void *context;
};

int session_init(struct session *session, const struct session_options *options, struct err *err);
void session_fini(struct session *session);

/* Ask the agent to end the task; before the job is sent, right after it. */
void session_cancel(struct session *session);

/*
 * The machine stands still for ever: pass on the output that it had sent, and that alone. The loop
 * is stopped whenever a stream has nothing left.
 */
void session_drain(struct session *session);
/* All of it is with the scribe, or cannot get there. */
bool session_is_drained(const struct session *session);

#endif
