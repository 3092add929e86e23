/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liar.c: a guest that plays the agent up to a point and then breaks the rules, of the streams or
 * of the messages. What the host says to it is in result.json: tests/hostile/liars.bats has the
 * table.
 */
#include "liar/liar.h"

static void reach(enum liar_stage stage)
{
    vsock_up(32);
    if (stage >= LIAR_DIALLED)
        agent_dial_all();
    if (stage >= LIAR_WORKS) {
        agent_hello();
        agent_await_job();
    }
    if (stage >= LIAR_RUNS)
        agent_started();
    if (stage >= LIAR_EXITED) {
        agent_end_output();
        agent_exited(0);
    }
}

_Noreturn void liar_finish(enum liar_stage stage)
{
    if (stage < LIAR_WORKS) {
        agent_hello();
        agent_await_job();
    }
    if (stage < LIAR_RUNS)
        agent_started();
    if (stage < LIAR_EXITED) {
        agent_end_output();
        agent_exited(0);
    }
    agent_exported();
    agent_wait();
}

static bool run_of(const struct lie *lies, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!text_equal(name, lies[i].name))
            continue;
        reach(lies[i].stage);
        lies[i].tell();
        agent_wait();
    }
    return false;
}

bool liar_run(const char *name)
{
    return run_of(liar_streams, liar_streams_count, name) ||
           run_of(liar_messages, liar_messages_count, name);
}
