/* SPDX-License-Identifier: Apache-2.0 */
/* powers.h: what vmrun-extractor may still do in its jail; see jail/powers.h. */
#ifndef VMM_EXTRACTOR_POWERS_H
#define VMM_EXTRACTOR_POWERS_H

#include "jail/powers.h"

extern const struct powers extractor_powers;

#endif
