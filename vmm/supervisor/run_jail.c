/* SPDX-License-Identifier: Apache-2.0 */
/* run_jail.c: see run_jail.h. Nothing here is the guest's; what children say is in child_jail.c. */
#include "supervisor/run_jail.h"

#include "base/text.h"
#include "supervisor/child_jail.h"
#include "supervisor/supervise_internal.h"

int run_jail_order(
    const struct supervision *run, struct child *child, struct jail_order *order, struct err *err)
{
    const struct jail_ground *ground = run->ground;

    if (!ground)
        return 0;
    order->kind = ground->kind;
    order->uid = ground->uid;
    order->gid = ground->gid;
    order->debug = ground->debug;
    /* Without a namespace of its own the user's other processes would count. */
    if (ground->kind == JAIL_WEAK)
        order->limit_count--;
    return child_order(child, order, err);
}

static void jail_ready(void *context, uint32_t events)
{
    struct run_jail *jail = context;
    struct supervision *run = jail->run;
    struct err err = ERR_INIT;

    (void)events;
    loop_remove(&run->loop, &jail->source);
    if (child_sealed(jail->child, run->ground, jail->threads, &err) == 0) {
        *jail->outcome =
            (struct outcome_jail){.proven = !jail->child->gated, .controls = jail->child->controls};
        return;
    }
    if (jail->child == &run->monitor) {
        (void)run_take_records(run); /* why it goes no further */
        if (!run->outcome->has_ended)
            run_fail(run, &err);
    } else if (jail->child == &run->salvager) {
        text_copy(run->outcome->salvage.text, sizeof(run->outcome->salvage.text), err.text);
        child_kill(jail->child);
    } else if (jail->child == &run->extractor) {
        text_copy(run->outcome->extractor_end, sizeof(run->outcome->extractor_end), err.text);
        child_kill(jail->child);
    } else {
        child_kill(jail->child); /* it waits at a gate that stays closed */
        run_fail(run, &err);
    }
}

int run_jail_watch(struct supervision *run, struct child *child, struct run_jail *jail,
    unsigned int threads, struct err *err)
{
    *jail = (struct run_jail){.run = run, .child = child, .threads = threads};
    jail->outcome = &run->outcome->jails[child == &run->monitor    ? OUTCOME_JAIL_MONITOR
                                         : child == &run->scribe   ? OUTCOME_JAIL_SCRIBE
                                         : child == &run->salvager ? OUTCOME_JAIL_SALVAGER
                                                                   : OUTCOME_JAIL_EXTRACTOR];
    jail->source = (struct loop_source){.fd = -1, .ready = jail_ready, .context = jail};
    if (child->jail < 0)
        return 0;
    return loop_add(&run->loop, &jail->source, child->jail, EPOLLIN, err);
}
