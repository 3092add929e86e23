/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_guard.h: the last thing between a line of the scribe and the stdout of `vmrun --events`
 * (supervisor; the input is hostile). The scribe makes good lines; this holds even when the scribe
 * was taken over: what passes is one member of a JSON object, of one of three names, without a
 * character that could steer a terminal. What the text says is not looked at.
 */
#ifndef VMM_SUPERVISOR_EVENT_GUARD_H
#define VMM_SUPERVISOR_EVENT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LINE, without its newline, is as ipc.h says: "text":"...", "b64":"..." or "cut":true. */
bool event_guard_passes(const uint8_t *line, size_t size);

#endif
