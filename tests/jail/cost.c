/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.c: what the jails of one run take: monitor and scribe beside each other, then the extractor,
 * each from its birth to its end, with everything that the supervisor reads back. The programs that
 * run in there are not part of it. Prints the microseconds of each of ROUNDS (default 20).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "extractor/powers.h"
#include "jail/proof.h"
#include "monitor/powers.h"
#include "scribe/powers.h"
#include "tests/jail/rig.h"

static void inside(struct jail *jail)
{
    struct jail_message setup;
    struct err err = ERR_INIT;

    /* What the setup is in a run: the supervisor has looked. */
    if (jail_hear(JAIL_FD, &setup, &err) == 1)
        _exit(jail_seal(jail, &err) == 0 ? 0 : 1);
    _exit(1);
}

static bool look(struct rig *rig)
{
    return rig_confined(rig) && jail_say(rig->jail, JAIL_GATE, 0, NULL) == 0;
}

static bool pass_gate(struct rig *rig)
{
    struct jail_message message;
    struct err err = ERR_INIT;

    return jail_hear(rig->jail, &message, &err) == 1 && message.word == JAIL_SEALED &&
           proof_sealed(rig->pid, rig->ground, &rig->order, 1, &rig->controls, &err) == 0 &&
           jail_say(rig->jail, JAIL_GATE, 0, NULL) == 0;
}

static bool one_run(const struct jail_ground *ground)
{
    struct rig monitor, scribe, extractor;

    return rig_spawn(&monitor, &monitor_powers, ground, inside) &&
           rig_spawn(&scribe, &scribe_powers, ground, inside) && look(&monitor) && look(&scribe) &&
           pass_gate(&monitor) && pass_gate(&scribe) && rig_end(&monitor) == 0 &&
           rig_end(&scribe) == 0 && rig_spawn(&extractor, &extractor_powers, ground, inside) &&
           look(&extractor) && pass_gate(&extractor) && rig_end(&extractor) == 0;
}

int main(int argc, char **argv)
{
    const struct jail_ground_wish wish = {.first_uid = 1900000000, .count = 1000};
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    struct jail_ground ground;
    struct err err = ERR_INIT;

    if (jail_ground_make(&ground, &wish, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < rounds; i++) {
        uint64_t start_ns = clock_mono_ns();

        if (!one_run(&ground)) {
            fprintf(stderr, "a jail could not be entered\n");
            return 1;
        }
        printf("%llu\n", (unsigned long long)(clock_mono_ns() - start_ns) / 1000);
    }
    jail_ground_free(&ground);
    return 0;
}
