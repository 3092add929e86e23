/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: vmrun-monitor, the process that is the virtual machine. It is started by the supervisor
 * with the fds of ipc/ipc.h and gets one record: a machine to run, or a probe to make. It opens
 * nothing and trusts nothing that comes from the guest; whoever takes it over holds only what those
 * fds are.
 */
#include <stdlib.h>

#include "ipc/ipc.h"
#include "jail/jail.h"
#include "monitor/machine.h"
#include "monitor/powers.h"
#include "monitor/probe.h"

static int monitor_probe(struct err *err)
{
    struct ipc_probed probed;

    probe_run(MONITOR_FD_KVM, &probed);
    return ipc_send_probed(IPC_FD, &probed, err);
}

static int monitor_machine(const struct ipc_record *record, struct jail *jail, struct err *err)
{
    static struct ipc_machine setup;
    static struct ipc_ended ended;

    if (ipc_get_machine(record, &setup, err) < 0)
        return -1;
    machine_run(&setup, jail, &ended);
    return ipc_send_ended(IPC_FD, &ended, err);
}

int main(void)
{
    static struct ipc_record record;
    static struct jail jail;
    struct err err = ERR_INIT;
    int result;

    if (jail_enter(&jail, &monitor_powers, &err) < 0 || ipc_receive(IPC_FD, &record, &err) != 1)
        _Exit(err_exit_code(&err));
    result = record.kind == IPC_PROBE ? monitor_probe(&err) : monitor_machine(&record, &jail, &err);
    /* Not return: destructors and stdio have nothing to do, and the VM goes with the process. */
    _Exit(result < 0 ? err_exit_code(&err) : EXIT_SUCCESS);
}
