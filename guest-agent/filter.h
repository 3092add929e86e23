/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h: the seccomp filter of every task, root's too. A list of what is denied: the machine is
 * the boundary, the filter keeps the task away from the agent's line to the host (vsock) and from
 * the parts of the guest kernel through which guest kernels are usually taken over.
 */
#ifndef AGENT_FILTER_H
#define AGENT_FILTER_H

#include <stddef.h>

#include <linux/filter.h>

#include "base/err.h"

enum { FILTER_MAX = 256 }; /* instructions */

/* Write the program to CODE and return its length. Pure. */
size_t filter_build(struct sock_filter code[FILTER_MAX]);

/* Put the calling process under the filter; no_new_privs must be set. Makes only one call. */
int filter_install(struct err *err);

#endif
