/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h: the names in a directory, sorted by their bytes, so that an export has one order. */
#ifndef AGENT_LISTING_H
#define AGENT_LISTING_H

#include <stddef.h>

/* Names of one directory take at most this; a task could make more, to wear the agent out. */
enum { LISTING_MAX_BYTES = 32 << 20 };

struct listing {
    char *bytes;  /* the names, one after another, each terminated */
    char **names; /* sorted; COUNT of them */
    size_t count;
};

#define LISTING_INIT                                                                               \
    {                                                                                              \
        .bytes = NULL, .names = NULL, .count = 0                                                   \
    }

/* Read the directory FD. Returns 0, or the errno (EOVERFLOW: too many names). */
int listing_read(struct listing *listing, int fd);

void listing_free(struct listing *listing);

#endif
