/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h: the agent's four streams to the host (wire.h). All are non-blocking; the functions
 * here wait for room or data themselves.
 */
#ifndef AGENT_CHANNEL_H
#define AGENT_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct channel {
    int control;
    int stdout_fd;
    int stderr_fd;
    int stdin_fd;
};

#define CHANNEL_INIT                                                                               \
    {                                                                                              \
        .control = -1, .stdout_fd = -1, .stderr_fd = -1, .stdin_fd = -1                            \
    }

/* Dial the host; in dial.c. On failure what was opened stays open for a last word. */
int channel_open(struct channel *channel, struct err *err);

/* Send one encoded message on CONTROL. */
int channel_send(
    const struct channel *channel, const uint8_t *message, size_t size, struct err *err);

/* Wait for the JOB and read its payload into BYTES, which has room for WIRE_JOB_MAX_BYTES. */
int channel_receive_job(
    const struct channel *channel, uint8_t *bytes, size_t *size, struct err *err);

#endif
