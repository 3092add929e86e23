/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: private to the session: task output from vsock to the scribe's pipes, task input from the
 * supervisor's pipe to vsock. The scribe never stops reading, so a full pipe is a short wait; while
 * it lasts no credit is granted, and the guest waits too. Nothing is buffered here but what vsock
 * holds.
 */
#ifndef VMM_MONITOR_FLOW_H
#define VMM_MONITOR_FLOW_H

#include "monitor/session.h"

/* End the session (session.c). */
void session_end(struct session *session, uint32_t cause, const char *text);

/* There are bytes to pass on. */
void flow_output(struct session_output *output);
/* The guest sends no more on this stream. */
void flow_output_closed(struct session_output *output);
/* EXPORTED has come: the session is done once all output is with the scribe. */
void flow_finish(struct session *session);

/* The job is sent: the task may read now. */
void flow_input_start(struct session *session);
/* The stream has room again. */
void flow_input(struct session *session);
/* The guest reads no more. */
void flow_input_closed(struct session *session);

#endif
