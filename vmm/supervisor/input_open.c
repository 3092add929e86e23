/* SPDX-License-Identifier: Apache-2.0 */
/* input_open.c: see input_open.h. */
#include "supervisor/input_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* How often a path is looked up again that was renamed during the look-up. */
enum { OPEN_TRIES_MAX = 32 };

/* The file itself, whatever it is, without opening it. */
static int locate(int directory, const char *path, enum input_links links)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    int fd;

    if (links == INPUT_BENEATH || links == INPUT_ANYWHERE)
        how.flags |= O_NOFOLLOW;
    if (links == INPUT_BENEATH || links == INPUT_BENEATH_LINKS)
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (links == INPUT_BENEATH)
        how.resolve |= RESOLVE_NO_SYMLINKS;
    for (int i = 0; i < OPEN_TRIES_MAX; i++) {
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd;
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "of an unknown kind";
    }
}

int input_open(
    int directory, const char *path, enum input_links links, struct stat *status, struct err *err)
{
    AUTO_FD int place = locate(directory, path, links);
    char name[32];
    int fd;

    if (place < 0 && errno == ELOOP)
        return err_set(
            err, "it is a symbolic link that leads to itself, or through too many others");
    if (place < 0 && errno == EXDEV)
        return err_set(err, "it is a symbolic link that leads out of the input directory");
    if (place < 0 || fstat(place, status) < 0)
        return err_sys(err, "cannot open it");
    if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode))
        return err_set(err, "it is %s; inputs must be regular files and directories%s",
            kind_of(status->st_mode),
            S_ISLNK(status->st_mode) ? " (or set [input_options] follow_links = yes)" : "");
    snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
    fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot open it for reading");
    return fd;
}
