/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c: the table of powers.h (supervisor, and whoever looks at a jail). */
#include <sched.h>

#include "jail/powers.h"

const struct powers_namespace powers_namespaces[] = {
    {CLONE_NEWUSER, "user", "as a user: to make the others, and to have rights over nothing else"},
    {CLONE_NEWNS, "mnt", "the root is empty and cannot be written"},
    {CLONE_NEWPID, "pid", "no other process can be named; what it starts dies with it"},
    {CLONE_NEWNET, "net", "no interface is up, no abstract socket of the host can be named"},
    {CLONE_NEWIPC, "ipc", "no shared memory, semaphore or queue of the host"},
    {CLONE_NEWUTS, "uts", "the host's name cannot be set"},
    {CLONE_NEWCGROUP, "cgroup", "the host's tree of cgroups cannot be seen"},
    {0, NULL, NULL},
};
