/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: see clock.h. */
#include "base/clock.h"

#include <time.h>

#include "base/err.h"

static uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;

    int failed = clock_gettime(id, &now);

    must(failed == 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_real_ns(void)
{
    return clock_read_ns(CLOCK_REALTIME);
}
