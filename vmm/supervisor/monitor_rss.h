/* SPDX-License-Identifier: Apache-2.0 */
/* monitor_rss.h: what a microVM costs beyond its guest's RAM (supervisor). */
#ifndef VMM_SUPERVISOR_MONITOR_RSS_H
#define VMM_SUPERVISOR_MONITOR_RSS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Resident bytes of the process but for guest RAM, which is what it has marked MADV_DONTDUMP
 * (/proc/PID/smaps, VmFlags "dd"). 0 when that cannot be read.
 */
uint64_t monitor_own_rss_bytes(pid_t pid);

#endif
