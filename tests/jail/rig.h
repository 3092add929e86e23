/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h: a process in the jail of one of vmrun's children, for the probes: made, ordered and read
 * back by the code that the supervisor uses.
 */
#ifndef TESTS_JAIL_RIG_H
#define TESTS_JAIL_RIG_H

#include "jail/ground.h"
#include "jail/jail.h"
#include "jail/powers.h"

struct rig {
    const struct powers *powers;
    const struct jail_ground *ground;
    struct jail_order order;
    pid_t pid;
    int pid_fd, jail;
    uint32_t controls; /* read back so far */
};

/* TAP. */
void report(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern int report_failed;

/*
 * Start a process in the jail of POWERS. Once it is confined, and has been looked at, it calls
 * INSIDE, which never returns. False when that failed, which is reported.
 */
bool rig_start(struct rig *rig, const struct powers *powers, const struct jail_ground *ground,
    void (*inside)(struct jail *jail));
/* The same in steps; INSIDE goes on without a further word. */
bool rig_spawn(struct rig *rig, const struct powers *powers, const struct jail_ground *ground,
    void (*inside)(struct jail *jail));
bool rig_confined(struct rig *rig);
/* Wait for its end; its wait status. */
int rig_end(struct rig *rig);

/* From inside: one result, which the outside reports. */
void rig_say(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From outside: take and report what is said until the process ends or is sealed. */
void rig_listen(struct rig *rig);

#endif
