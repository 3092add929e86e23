/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: can this host run guests at all (supervisor). */
#ifndef VMM_SUPERVISOR_HOST_H
#define VMM_SUPERVISOR_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/ipc.h"

/*
 * Loop iterations a millisecond above which guest kernel code counts as running natively. Hardware
 * does hundreds of thousands, a binary-translating emulator tens of thousands, an interpreter of
 * single instructions under two thousand.
 */
enum { HOST_NATIVE_LOOPS_PER_MS = 20000 };

/* Open /dev/kvm and check its API version. Returns the fd, or -1 with a remedy in ERR. */
int host_open_kvm(struct err *err);

/* Let the monitor measure what KVM does with guest kernel code. */
int host_probe(int programs_fd, int kvm_fd, struct ipc_probed *probed, struct err *err);

/* Why PROBED means that no task can run here; NULL when it can. TEXT is scratch space. */
const char *host_probe_problem(const struct ipc_probed *probed, char *text, size_t size);

/*
 * Refuse a host whose KVM does not run guest kernel code natively. Measured only where the
 * processor shows no virtualization: elsewhere it costs nothing.
 */
int host_check_native(int programs_fd, int kvm_fd, struct err *err);

#endif
