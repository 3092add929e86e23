/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matches.h: the paths that the patterns of the declared artifacts mean (wire/pattern.h), found in
 * the tree that the task left. No link is followed on the way; every name in the tree is hostile.
 */
#ifndef AGENT_MATCHES_H
#define AGENT_MATCHES_H

#include <stdbool.h>
#include <stddef.h>

/* Past one of these a pattern has too many matches: a task could wear out the agent with them. */
enum { MATCHES_MAX = 65536, MATCHES_BYTES_MAX = 16 << 20 };

struct matches {
    char **paths; /* COUNT of them, each owned */
    size_t count;
    size_t bytes;
};

#define MATCHES_INIT                                                                               \
    {                                                                                              \
        .paths = NULL, .count = 0, .bytes = 0                                                      \
    }

/*
 * Add what PATTERN means below the directory ROOT_FD; a pattern without a match, or without `*` and
 * `?`, is added as it is. A link where the pattern wants a directory is added itself, so that it is
 * reported. False when there were too many matches or no memory; those found before stay.
 */
bool matches_add(struct matches *matches, int root_fd, const char *pattern);

void matches_free(struct matches *matches);

#endif
