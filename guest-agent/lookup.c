/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: see lookup.h. Runs in the task's process, after it has the task's rights. */
#include "lookup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *lookup_path(char *const *envs)
{
    for (; *envs; envs++) {
        if (strncmp(*envs, "PATH=", 5) == 0)
            return *envs + 5;
    }
    return LOOKUP_DEFAULT_PATH;
}

/* DIRECTORY/NAME into FOUND; 0 or ENAMETOOLONG. */
static int lookup_join(
    char *found, size_t found_size, const char *directory, size_t length, const char *name)
{
    int size;

    if (length == 0)
        size = snprintf(found, found_size, "./%s", name);
    else
        size = snprintf(found, found_size, "%.*s/%s", (int)length, directory, name);
    return size < 0 || (size_t)size >= found_size ? ENAMETOOLONG : 0;
}

int lookup_command(const char *name, const char *path, lookup_probe probe, void *context,
    char *found, size_t found_size)
{
    int worst = ENOENT;

    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/')) {
        int length = snprintf(found, found_size, "%s", name);

        if (length < 0 || (size_t)length >= found_size)
            return ENAMETOOLONG;
        return probe(context, found);
    }
    for (;;) {
        size_t length = strcspn(path, ":");
        int error = lookup_join(found, found_size, path, length, name);

        if (error == 0)
            error = probe(context, found);
        if (error == 0)
            return 0;
        /* What is not there says nothing; what is there but unusable is the better reason. */
        if (error != ENOENT && error != ENOTDIR && error != ENAMETOOLONG)
            worst = error;
        if (path[length] == '\0')
            return worst;
        path += length + 1;
    }
}
