/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tree.c: see own_tree.h. What the extractor left is hostile: entries are looked at by the fd
 * of their directory, and nobody is left who could change them meanwhile.
 */
#include "supervisor/own_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { OWN_DEPTH_MAX = 80 };

struct owner {
    bool takes; /* else it only looks */
    uid_t from, uid;
    gid_t gid;
    DIR *levels[OWN_DEPTH_MAX];
    int depth;
};

static int owner_enter(struct owner *owner, int parent_fd, const char *name, struct err *err)
{
    AUTO_FD int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (owner->depth == OWN_DEPTH_MAX) {
        errno = ELOOP;
        return err_sys(err, "artifacts");
    }
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, "cannot open a directory of the artifacts");
    if (owner->takes && status.st_uid != owner->from)
        return err_set(err, "a directory of the artifacts is of user %u", status.st_uid);
    if (owner->takes && fchown(fd, owner->uid, owner->gid) < 0)
        return err_sys(err, "cannot take over a directory of the artifacts");
    owner->levels[owner->depth] = fdopendir(fd);
    if (!owner->levels[owner->depth])
        return err_sys(err, "cannot list a directory of the artifacts");
    fd = -1; /* closedir() closes it */
    owner->depth++;
    return 0;
}

static int owner_take(struct owner *owner, const char *name, struct err *err)
{
    int fd = dirfd(owner->levels[owner->depth - 1]);
    struct stat status;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, "cannot look at an artifact");
    if (S_ISDIR(status.st_mode))
        return owner_enter(owner, fd, name, err);
    if (!S_ISREG(status.st_mode) || (status.st_mode & (S_ISUID | S_ISGID)) ||
        (owner->takes && (status.st_uid != owner->from || status.st_nlink != 1)))
        return err_set(err, "among the artifacts is what the extractor must not make");
    if (owner->takes && fchownat(fd, name, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, "cannot take over an artifact");
    return 0;
}

static int owner_walk(struct owner *owner, int fd, struct err *err)
{
    int failed = owner_enter(owner, fd, ".", err);

    while (failed == 0 && owner->depth > 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(owner->levels[owner->depth - 1]);
        if (entry)
            failed = owner_take(owner, entry->d_name, err);
        else if (errno != 0)
            failed = err_sys(err, "cannot list a directory of the artifacts");
        else
            closedir(owner->levels[--owner->depth]);
    }
    while (owner->depth > 0)
        closedir(owner->levels[--owner->depth]);
    return failed;
}

int own_tree_check(int fd, struct err *err)
{
    struct owner owner = {.takes = false};

    return owner_walk(&owner, fd, err);
}

int own_tree(int fd, uid_t from, uid_t uid, gid_t gid, struct err *err)
{
    struct owner owner = {.takes = true, .from = from, .uid = uid, .gid = gid};

    return owner_walk(&owner, fd, err);
}
