/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h: one microVM from the setup record to the end of its vCPUs. Runs in the monitor; main.c
 * is its only caller. The fds are those of ipc.h.
 */
#ifndef VMM_MONITOR_MACHINE_H
#define VMM_MONITOR_MACHINE_H

#include "base/err.h"
#include "ipc/ipc.h"
#include "jail/jail.h"

/*
 * Build the machine that SETUP describes, run it until it ends, and fill ENDED: why, with what
 * registers, after how many exits. A failure of the host is an end too (IPC_END_HOST). JAIL is
 * sealed just before the guest runs.
 */
void machine_run(const struct ipc_machine *setup, struct jail *jail, struct ipc_ended *ended);

#endif
