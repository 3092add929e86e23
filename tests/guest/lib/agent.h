/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h: what the agent of a run says (vmm/wire/wire.h), step by step, so that a test guest can
 * go as far as it likes and then lie.
 */
#ifndef TESTS_GUEST_LIB_AGENT_H
#define TESTS_GUEST_LIB_AGENT_H

#include "lib/vsock.h"
#include "wire/wire.h"

enum { AGENT_SOURCE_PORT = 700 }; /* of the stream to host port P: this + P */

/* A packet of the stream to HOST_PORT, with the credit that is due. */
struct vsock_header agent_header(uint32_t host_port, uint16_t op);

/* REQUEST and its RESPONSE. */
void agent_dial(uint32_t host_port);
/* Send BYTES in packets of at most PIECE; waits for credit. */
void agent_send(uint32_t host_port, const void *bytes, size_t size, uint32_t piece);

void agent_dial_all(void);
void agent_hello(void);
void agent_await_job(void);
void agent_started(void);
/* SHUTDOWN of both output streams. */
void agent_end_output(void);
void agent_exited(uint32_t code);
void agent_exported(void);

/* All of it, with TEXT on stdout: the verdict is ok. Does not come back. */
_Noreturn void agent_serve(const char *text);

/* Wait for the host to stop this machine; dies when it does not. */
_Noreturn void agent_wait(void);

#endif
