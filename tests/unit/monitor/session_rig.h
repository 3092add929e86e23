/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_rig.h: a session with the test at all its ends; its vsock device is a fake. Global state,
 * made by start() and freed by finish(): all that is declared here.
 */
#ifndef TESTS_UNIT_MONITOR_SESSION_RIG_H
#define TESTS_UNIT_MONITOR_SESSION_RIG_H

#include "tests/unit/unit.h"

#include "ipc/ipc.h"
#include "monitor/session.h"

/* A stream of the fake: byte queues. */
struct vsock_stream {
    uint8_t in[1 << 16]; /* from the guest */
    size_t in_used, in_done;
    uint8_t out[1 << 16]; /* to the guest */
    size_t out_used, out_room;
    bool shut;
};

extern const struct vsock_ops *fake_ops;
extern void *fake_context;
extern struct vsock_stream streams[8];

struct session_rig {
    struct loop loop;
    struct session session;
    int ipc[2];
    int out[2], err[2], in[2];
    int job;
    bool ended;
    struct ipc_ended end;
};

extern struct session_rig t;

void start(bool has_stdin);
void finish(void);
bool dial(uint32_t port, uint32_t source);
void dial_all(void);
void guest_sends(uint32_t port, const void *bytes, size_t size);
void say_hello(void);
void say_exited(void);
void say_exported(void);
void close_outputs(void);
void due(enum ipc_kind kind);
void ended_with(enum ipc_end cause);

#endif
