/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.h: which file a command names, by the rules of execvp(3). Pure but for the probe. */
#ifndef AGENT_LOOKUP_H
#define AGENT_LOOKUP_H

#include <stddef.h>

#define LOOKUP_DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* 0 when PATH is a file that the task may execute, else the errno that says why not. */
typedef int (*lookup_probe)(void *context, const char *path);

/* PATH of an environment; the default when it has none. */
const char *lookup_path(char *const *envs);

/*
 * The file that NAME means, into FOUND. A name with a slash is taken as it is; another is looked
 * for in the directories of PATH, where an empty one is the working directory. Returns 0, or the
 * errno: ENOENT when there is nothing, another when there was something that cannot be executed.
 */
int lookup_command(const char *name, const char *path, lookup_probe probe, void *context,
    char *found, size_t found_size);

#endif
