/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_mask.h: names of the CPU features that a task can hide from its guest (supervisor). */
#ifndef VMM_SUPERVISOR_CPU_MASK_H
#define VMM_SUPERVISOR_CPU_MASK_H

#include "base/err.h"
#include "ipc/ipc.h"

/* The CPUID bit of NAME, as /proc/cpuinfo spells it. */
int cpu_mask_find(const char *name, struct ipc_cpu_bit *bit, struct err *err);

#endif
