/* SPDX-License-Identifier: Apache-2.0 */
/* tar_pax.h: the headers that say something of the entry behind them; private to tar.c. */
#ifndef AGENT_TAR_PAX_H
#define AGENT_TAR_PAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What has been said of the next entry. */
struct tar_pax {
    bool has_path; /* it is in the name that was handed over, as the link is in the target */
    bool has_link;
    bool has_size;
    uint64_t size;
};

/*
 * Records of a pax header (POSIX.1-2017, pax, "pax Extended Header"). NAME and TARGET have
 * TAR_NAME_MAX_BYTES + 1 bytes. A GLOBAL header may only say what is ignored anyway.
 */
int tar_pax_read(struct tar_pax *pax, const uint8_t *bytes, size_t size, bool global, char *name,
    char *target, struct err *err);

/* A path of SIZE bytes, perhaps with a NUL behind it (GNU tar); sets *PRESENT. */
int tar_pax_text(const uint8_t *bytes, size_t size, char *to, bool *present, struct err *err);

#endif
