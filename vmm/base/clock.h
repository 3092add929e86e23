/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: nanoseconds (all processes). Deadlines are always CLOCK_MONOTONIC. */
#ifndef VMM_BASE_CLOCK_H
#define VMM_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_mono_ns(void);

/* CLOCK_REALTIME in nanoseconds since the epoch. */
uint64_t clock_real_ns(void);

#endif
