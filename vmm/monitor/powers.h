/* SPDX-License-Identifier: Apache-2.0 */
/* powers.h: what vmrun-monitor may still do in its jail; see jail/powers.h. */
#ifndef VMM_MONITOR_POWERS_H
#define VMM_MONITOR_POWERS_H

#include "jail/powers.h"

/* Kinds of threads, as jail_seal_thread() wants them. */
enum { MONITOR_THREAD_LOOP = 0, MONITOR_THREAD_VCPU = 1 };

extern const struct powers monitor_powers;

#endif
