/* SPDX-License-Identifier: Apache-2.0 */
/* powers.h: what vmrun-scribe may still do in its jail; see jail/powers.h. */
#ifndef VMM_SCRIBE_POWERS_H
#define VMM_SCRIBE_POWERS_H

#include "jail/powers.h"

extern const struct powers scribe_powers;

#endif
