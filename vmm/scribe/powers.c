/* SPDX-License-Identifier: Apache-2.0 */
/* powers.c: all that the scribe can still do when it reads the first byte of output. */
#include "scribe/powers.h"

#include <seccomp.h>
#include <sys/resource.h>

static const struct powers_call calls[] = {
    POWERS_CALL(read, "the gate; raw output"),
    POWERS_CALL(write, "the live copy"),
    POWERS_CALL(pread64, "the tail, which is a ring in the log file"),
    POWERS_CALL(pwrite64, "the log files"),
    POWERS_CALL(epoll_wait, "whatever comes first"),
    POWERS_CALL(epoll_ctl, "a stream that has ended, a live reader that is slow"),
    POWERS_CALL(close, "a stream that has ended"),
    POWERS_CALL(sendmsg, "totals to the supervisor"),
    POWERS_CALL(exit_group, "the end"),
    POWERS_END,
};

static const struct powers_thread thread = {.name = "scribe", .calls = calls};

static const struct powers_limit limits[] = {
    {RLIMIT_CORE, 0, "output may hold secrets"},
    {RLIMIT_MEMLOCK, 0, "nothing is locked"},
    {RLIMIT_AS, POWERS_ORDERED, "its buffers have fixed sizes"},
    {RLIMIT_FSIZE, POWERS_ORDERED, "the cap of a stream and what marks a gap"},
    {RLIMIT_NOFILE, POWERS_ORDERED, "those that it was given, and the loop's"},
    {RLIMIT_CPU, POWERS_ORDERED, "as long as output can come"},
    {RLIMIT_NPROC, POWERS_ORDERED, "itself"},
};

const struct powers scribe_powers = {
    .name = "vmrun-scribe",
    .threads = {&thread},
    .limits = limits,
    .limit_count = sizeof(limits) / sizeof(limits[0]),
};
