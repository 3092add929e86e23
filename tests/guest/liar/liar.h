/* SPDX-License-Identifier: Apache-2.0 */
/* liar.h: lies to the host, each of which is the end of its run. */
#ifndef TESTS_GUEST_LIAR_LIAR_H
#define TESTS_GUEST_LIAR_LIAR_H

#include "lib/agent.h"

/* How far a run has come when the lie is told. */
enum liar_stage {
    LIAR_STARTS, /* vsock is up, nothing is dialled */
    LIAR_DIALLED,
    LIAR_WORKS,  /* HELLO was said, the job is there */
    LIAR_RUNS,   /* STARTED was said */
    LIAR_EXITED, /* the output has ended, EXITED was said */
};

struct lie {
    const char *name;
    enum liar_stage stage;
    void (*tell)(void);
};

/* Streams and credit (liar/streams.c), messages (liar/messages.c). */
extern const struct lie liar_streams[];
extern const size_t liar_streams_count;
extern const struct lie liar_messages[];
extern const size_t liar_messages_count;

/* Tell the lie NAME and wait for the end; false when there is none of that name. */
bool liar_run(const char *name);

/* The rest of a run from STAGE on, as it should be. Does not come back. */
_Noreturn void liar_finish(enum liar_stage stage);

#endif
