/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_tree.c: see remove_tree.h. An entry that is not a directory is never opened, so that no
 * FIFO and no link can do anything; a directory is entered only beneath the one that names it.
 */
#include "supervisor/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

struct level {
    DIR *directory;
    bool changed; /* an entry was removed since the last rewind */
    char name[NAME_MAX + 1];
};

struct removal {
    struct level levels[REMOVE_DEPTH_MAX];
    int depth; /* levels in use */
    const char *keep;
    uint64_t *budget;
};

static int removal_err(const char *name, struct err *err)
{
    char shown[128];

    text_escape(shown, sizeof(shown), name, strlen(name));
    return err_sys(err, "cannot remove %s", shown);
}

/* Enter NAME of PARENT_FD; "." enters the directory itself. */
static int removal_push(struct removal *removal, int parent_fd, const char *name, struct err *err)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    struct level *level;
    AUTO_FD int fd = -1;
    bool fits;

    if (removal->depth == REMOVE_DEPTH_MAX) {
        errno = ELOOP;
        return removal_err(name, err);
    }
    fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));
    if (fd < 0)
        return removal_err(name, err);
    level = &removal->levels[removal->depth];
    level->changed = false;
    fits = text_copy(level->name, sizeof(level->name), name);
    must(fits);
    level->directory = fdopendir(fd);
    if (!level->directory)
        return removal_err(name, err);
    fd = -1; /* closedir() closes it */
    removal->depth++;
    return 0;
}

/* One entry of the top level: gone afterwards, or entered. */
static int removal_entry(struct removal *removal, const char *name, struct err *err)
{
    struct level *level = &removal->levels[removal->depth - 1];
    int fd = dirfd(level->directory);

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    if (removal->depth == 1 && removal->keep && strcmp(name, removal->keep) == 0)
        return 0;
    if (*removal->budget == 0)
        return err_set(err, "there are more files than are removed in one go; do it again");
    (*removal->budget)--;
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT) {
        level->changed = true;
        return 0;
    }
    return errno == EISDIR ? removal_push(removal, fd, name, err) : removal_err(name, err);
}

/* The top level has no more entries. Some file systems skip entries while others go: look again. */
static int removal_pop(struct removal *removal, struct err *err)
{
    struct level *level = &removal->levels[removal->depth - 1];

    if (level->changed) {
        level->changed = false;
        rewinddir(level->directory);
        return 0;
    }
    closedir(level->directory);
    if (--removal->depth == 0)
        return 0;
    level--;
    level->changed = true;
    if (unlinkat(dirfd(level->directory), level[1].name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return removal_err(level[1].name, err);
    return 0;
}

int remove_content(int fd, const char *keep, uint64_t *budget, struct err *err)
{
    AUTO_FREE struct removal *removal = calloc(1, sizeof(*removal));
    int failed;

    if (!removal)
        return err_sys(err, "cannot remove a directory");
    removal->keep = keep;
    removal->budget = budget;
    failed = removal_push(removal, fd, ".", err);
    while (failed == 0 && removal->depth > 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(removal->levels[removal->depth - 1].directory);
        if (entry)
            failed = removal_entry(removal, entry->d_name, err);
        else if (errno != 0)
            failed = removal_err(removal->levels[removal->depth - 1].name, err);
        else
            failed = removal_pop(removal, err);
    }
    while (removal->depth > 0)
        closedir(removal->levels[--removal->depth].directory);
    return failed;
}

int remove_tree(int parent_fd, const char *name, uint64_t *budget, struct err *err)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    AUTO_FD int fd = -1;

    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return removal_err(name, err);
    fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));
    if (fd < 0)
        return removal_err(name, err);
    if (remove_content(fd, NULL, budget, err) < 0)
        return -1;
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return removal_err(name, err);
    return 0;
}
