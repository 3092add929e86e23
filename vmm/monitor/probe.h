/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h: measures whether this host's KVM runs guest kernel code at the speed of the CPU. */
#ifndef VMM_MONITOR_PROBE_H
#define VMM_MONITOR_PROBE_H

#include "ipc/ipc.h"

/* Runs a throw-away VM for some 20 ms. Always fills PROBED: what failed is in its text. */
void probe_run(int kvm_fd, struct ipc_probed *probed);

#endif
