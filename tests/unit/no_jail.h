/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_jail.h: in the place of jail.c, for tests of whole children: a sanitizer needs more than a
 * jail leaves. tests/jail/ has the real one.
 */
#ifndef TESTS_UNIT_NO_JAIL_H
#define TESTS_UNIT_NO_JAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "jail/jail.h"

static const struct powers *no_jail_entered; /* first entered, with these powers, */
static bool no_jail_sealed;                  /* then sealed with the same */

int jail_enter(struct jail *jail, const struct powers *powers, struct err *err)
{
    (void)err;
    jail->powers = no_jail_entered = powers;
    return 0;
}

int jail_seal(struct jail *jail, struct err *err)
{
    (void)err;
    no_jail_sealed = no_jail_entered && jail->powers == no_jail_entered;
    return 0;
}

static inline bool no_jail_sealed_with(const struct powers *powers)
{
    return no_jail_sealed && no_jail_entered == powers;
}

#endif
