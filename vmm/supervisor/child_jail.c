/* SPDX-License-Identifier: Apache-2.0 */
/* child_jail.c: see child_jail.h. A child is trusted until its gate is open, and hostile then. */
#include "supervisor/child_jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "jail/proof.h"

/* A child that takes longer than this for its first steps hangs. */
enum { CONFINE_MS = 30 * 1000 };

/* How long a child that is being killed may take until that can be seen. */
enum { GONE_MS = 500 };

/*
 * FAILED, but as the word or the /proc of a child that has died: nothing is wrong with its jail
 * then. Returns 0 in that case, -1 otherwise.
 */
static int child_forgive(const struct child *child, struct err *err)
{
    struct pollfd end = {.fd = child->pid_fd, .events = POLLIN};

    if (poll(&end, 1, GONE_MS) != 1)
        return -1;
    *err = (struct err)ERR_INIT;
    return 0;
}

/* Returns 1 when the next word is WORD, with *NUMBER, 0 when the child has ended. */
static int child_hear(struct child *child, enum jail_word word, uint32_t *number, struct err *err)
{
    struct jail_message message;
    char said[sizeof(message.text)];
    int heard = jail_hear(child->jail, &message, err);

    if (heard < 0)
        return err_wrap(err, "%s", child->name);
    if (heard == 1)
        *number = message.number;
    if (heard == 0 || message.word == word)
        return heard;
    text_escape(said, sizeof(said), message.text, strlen(message.text));
    if (message.word == JAIL_REFUSED)
        return err_set(err, "%s was refused system call %u on the way into its jail", child->name,
            message.number);
    return err_set(err, "%s cannot enter its jail: %s", child->name, said);
}

int child_order(struct child *child, const struct jail_order *order, struct err *err)
{
    child->order = *order;
    child->gated = true;
    if (jail_send_order(child->jail, order, err) < 0)
        return child_forgive(child, err);
    return 0;
}

/*
 * The kernel takes a network namespace apart behind an rcu_barrier() or two, and so it does a VM:
 * one that goes with its process holds up the VM that goes at the same time. A run can do without.
 */
static void child_keep_net_ns(struct child *child)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)child->pid);
    child->net_ns_fd = open(path, O_RDONLY | O_CLOEXEC);
}

int child_confined(struct child *child, const struct jail_ground *ground, struct err *err)
{
    struct pollfd channel = {.fd = child->jail, .events = POLLIN};
    uint32_t abi = 0;
    int ready;

    if (child->jail < 0)
        return 0;
    do
        ready = poll(&channel, 1, CONFINE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return err_set(err, "%s does not enter its jail", child->name);
    ready = child_hear(child, JAIL_CONFINED, &abi, err);
    if (ready <= 0)
        return ready;
    if (fd_set_nonblocking(child->jail, err) < 0)
        return -1;
    if (proof_confined(
            child->pid, ground, child->fds, child->fd_count, abi, &child->controls, err) == 0) {
        child_keep_net_ns(child);
        return 0;
    }
    err_wrap(err, "%s is not in its jail", child->name);
    return child_forgive(child, err);
}

int child_sealed(
    struct child *child, const struct jail_ground *ground, unsigned int threads, struct err *err)
{
    uint32_t number;
    int heard = child_hear(child, JAIL_SEALED, &number, err);

    if (heard <= 0)
        return heard;
    if (proof_sealed(child->pid, ground, &child->order, threads, &child->controls, err) < 0) {
        err_wrap(err, "%s is not in its jail", child->name);
        return child_forgive(child, err);
    }
    if (jail_say(child->jail, JAIL_GATE, 0, NULL) < 0) {
        err_sys(err, "cannot open the gate of %s", child->name);
        return child_forgive(child, err);
    }
    child->gated = false;
    return 0;
}

bool child_refused(const struct child *child, char *text, size_t size)
{
    struct jail_message message;
    struct err err = ERR_INIT;
    AUTO_FREE char *name = NULL;

    if (child->jail < 0 || !child->order.debug || jail_hear(child->jail, &message, &err) != 1 ||
        message.word != JAIL_REFUSED)
        return false;
    name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)message.number);
    snprintf(text, size, "%s made system call %u (%s), which its jail refuses", child->name,
        message.number, name ? name : "unknown");
    return true;
}
