/* SPDX-License-Identifier: Apache-2.0 */
/* jail.c: see jail.h. Runs in each child; its only input until the gate is the supervisor's. */
#include "jail/jail.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/root.h"

/*
 * Die with the supervisor. The signal was forgotten when the user changed; the supervisor may have
 * died before it was set again, and getppid() is 0 here however it fares.
 */
static int watch_parent(struct err *err)
{
    struct pollfd parent = {.fd = JAIL_FD_PARENT, .events = POLLIN};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return err_sys(err, "cannot ask to die with the supervisor");
    if (poll(&parent, 1, 0) != 0)
        return err_set(err, "the supervisor is gone");
    close(JAIL_FD_PARENT); /* it would be a handle on the supervisor */
    return 0;
}

static int limit_set(uint32_t resource, uint64_t value, struct err *err)
{
    const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

    if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return err_sys(
            err, "cannot set resource limit %u to %llu", resource, (unsigned long long)value);
    return 0;
}

/* What the order says of RESOURCE; false when it says nothing. */
static bool limit_ordered(const struct jail_order *order, int resource, uint64_t *value)
{
    for (uint32_t i = 0; i < order->limit_count; i++) {
        if (order->limits[i].resource == (uint32_t)resource) {
            *value = order->limits[i].value;
            return true;
        }
    }
    return false;
}

/* The number of processes is limited last: threads are still to be started. */
static int limits_set(const struct jail *jail, bool last, struct err *err)
{
    for (size_t i = 0; i < jail->powers->limit_count; i++) {
        const struct powers_limit *limit = &jail->powers->limits[i];
        uint64_t value = limit->value;

        if ((limit->resource == RLIMIT_NPROC) != last)
            continue;
        if (value == POWERS_ORDERED && !limit_ordered(&jail->order, limit->resource, &value)) {
            if (last)
                continue; /* without namespaces the user's other processes would count */
            return err_set(err, "the order says nothing of resource limit %d", limit->resource);
        }
        if (limit_set((uint32_t)limit->resource, value, err) < 0)
            return -1;
    }
    return 0;
}

static int filters_make(struct jail *jail, struct err *err)
{
    for (size_t i = 0; i < POWERS_THREADS_MAX; i++) {
        const struct powers_thread *thread = jail->powers->threads[i];

        if (thread)
            filter_make(thread, jail->order.debug, &jail->filters[i]);
    }
    return jail->order.debug ? filter_report_refused(JAIL_FD, err) : 0;
}

/*
 * The namespaces came with the process (ground.h). The order of the rest:
 *   the root goes while there are capabilities to mount with,
 *   then user and capabilities, and with them the wish to die with the supervisor, so that is made
 *   anew; the new user would make the process undumpable, so that too, as the supervisor has yet
 *   to look at it,
 *   no_new_privs is what Landlock and seccomp want first,
 *   resource limits last, as they hinder the steps before.
 */
static int jail_confine(struct jail *jail, struct err *err)
{
    if (jail_receive_order(JAIL_FD, &jail->order, err) < 0 || filters_make(jail, err) < 0)
        return -1;
    if (jail->order.kind != JAIL_WEAK && root_empty(err) < 0)
        return -1;
    if (creds_drop(&jail->order, err) < 0 || watch_parent(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, "cannot give up new privileges");
    jail->landlock_abi = landlock_confine(jail->powers, err);
    if (jail->landlock_abi < 0)
        return -1;
    return limits_set(jail, false, err);
}

int jail_enter(struct jail *jail, const struct powers *powers, struct err *err)
{
    *jail = (struct jail){.powers = powers};
    signal(SIGPIPE, SIG_IGN); /* whoever is gone at the other end is an error, EPIPE */
    if (jail_confine(jail, err) < 0) {
        jail_fail(err);
        return -1;
    }
    if (jail_say(JAIL_FD, JAIL_CONFINED, (uint32_t)jail->landlock_abi, NULL) < 0)
        return err_sys(err, "cannot say that the jail is entered");
    return 0;
}

int jail_seal_thread(const struct jail *jail, unsigned int thread)
{
    return filter_load(&jail->filters[thread]);
}

static int jail_close(const struct jail *jail, struct err *err)
{
    if (limits_set(jail, true, err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, "cannot become undumpable");
    if (jail_seal_thread(jail, 0) < 0)
        return err_sys(err, "cannot load the seccomp filter");
    return 0;
}

int jail_seal(struct jail *jail, struct err *err)
{
    struct jail_message gate;
    int heard;

    if (jail_close(jail, err) < 0) {
        jail_fail(err);
        return -1;
    }
    if (jail_say(JAIL_FD, JAIL_SEALED, 0, NULL) < 0)
        return err_sys(err, "cannot ask for the gate to be opened");
    heard = jail_hear(JAIL_FD, &gate, err);
    if (heard < 0)
        return -1;
    return heard == 1 && gate.word == JAIL_GATE ? 0 : err_set(err, "the gate stays closed");
}

void jail_fail(const struct err *err)
{
    (void)jail_say(JAIL_FD, JAIL_FAILED, 0, err->text);
}
