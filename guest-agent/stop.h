/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h: how the agent ends. As PID 1 it never exits: the host stops the machine. */
#ifndef AGENT_STOP_H
#define AGENT_STOP_H

#include "base/err.h"
#include "channel.h"

/* Everything was said: wait for the host to stop the machine. */
_Noreturn void stop_wait(void);

/* Nobody listens any more: reset the machine. REASON goes to the kernel log. */
_Noreturn void stop_reset(const char *reason);

/* The agent cannot go on: say why, on CONTROL if it is open and in the kernel log, and end. */
_Noreturn void stop_fatal(const struct channel *channel, const struct err *err);

#endif
