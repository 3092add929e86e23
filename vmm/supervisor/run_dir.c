/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_dir.c: see run_dir.h. What lies in a base may have been planted by anything that runs as the
 * same user, so no name is trusted: every file is opened without following, and looked at before
 * use.
 */
#include "supervisor/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "supervisor/remove_tree.h"

/* A gc that holds a directory of ours for a moment lets go of it soon: wait 1 ms, this often. */
enum { CREATE_ATTEMPTS_MAX = 1000 };

enum { STATE_HEAD_BYTES = 128 };
#define STATE_FORMAT "vmrun run directory 1\noutput %" PRIu64 " %" PRIu64 "\n"

static bool is_private_directory(const struct stat *status)
{
    return S_ISDIR(status->st_mode) && status->st_uid == geteuid() && !(status->st_mode & 077);
}

/* ---- the base -------------------------------------------------------------------------------- */

bool run_base_path(int i, char path[RUN_BASE_BYTES])
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    struct stat status;

    if (i == 1) {
        snprintf(path, RUN_BASE_BYTES, "/tmp/vmrun-%u", (unsigned)geteuid());
        return true;
    }
    /* After sudo it is often somebody else's. */
    if (!runtime || runtime[0] != '/' || stat(runtime, &status) < 0 ||
        !is_private_directory(&status))
        return false;
    return snprintf(path, RUN_BASE_BYTES, "%s/vmrun", runtime) < RUN_BASE_BYTES;
}

int run_base_open(const char *path, bool create, struct err *err)
{
    struct stat status;
    AUTO_FD int fd = -1;

    if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create %s, the place of run directories", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, "cannot open %s, the place of run directories", path);
    if (!is_private_directory(&status))
        return err_set(err,
            "%s: run directories lie there, so it must belong to you and be closed to others "
            "(chmod 700); remove it, or set XDG_RUNTIME_DIR to a directory that is your own",
            path);
    return fd_take(&fd);
}

/* ---- the life of a run directory ------------------------------------------------------------- */

/* NAME in DIR_FD is the file behind FD. */
static bool is_still_at(int dir_fd, const char *name, int fd)
{
    struct stat named, opened;

    return fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* Open the lock file of the directory RUN_FD; made when there is none. Returns the fd or -1. */
static int lock_open(int run_fd)
{
    /* Not blocking: something may have planted a FIFO. */
    AUTO_FD int fd = openat(
        run_fd, RUN_LOCK_FILE, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    if (S_ISREG(status.st_mode) && status.st_nlink <= 1)
        return fd_take(&fd);
    errno = EINVAL;
    return -1;
}

/*
 * Open run->name and flock its lock file with KIND. A lock counts only when, after it was taken,
 * the names still stand for what was locked: who removed them held the lock of the same files.
 */
static enum run_claim run_dir_lock(struct run_dir *run, int kind)
{
    struct stat status;

    run->fd = openat(run->base_fd, run->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run->fd < 0)
        return errno == ENOENT                      ? RUN_GONE
               : errno == ENOTDIR || errno == ELOOP ? RUN_FOREIGN
                                                    : RUN_ERROR;
    if (fstat(run->fd, &status) < 0)
        return RUN_ERROR;
    if (!is_private_directory(&status))
        return RUN_FOREIGN;
    run->lock_fd = lock_open(run->fd);
    if (run->lock_fd < 0) /* EINVAL, ELOOP: something else was planted there */
        return errno == ENOENT                     ? RUN_GONE
               : errno == EINVAL || errno == ELOOP ? RUN_FOREIGN
                                                   : RUN_ERROR;
    if (flock(run->lock_fd, kind | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? RUN_IN_USE : RUN_ERROR;
    return is_still_at(run->base_fd, run->name, run->fd) &&
                   is_still_at(run->fd, RUN_LOCK_FILE, run->lock_fd)
               ? RUN_CLAIMED
               : RUN_GONE;
}

/* Make run->name and lock it. RUN_GONE and RUN_IN_USE: a gc was faster, try again. */
static enum run_claim run_dir_try(struct run_dir *run, bool again)
{
    enum run_claim claim;
    int error;

    /* Later it may be the one of the attempt before. */
    if (mkdirat(run->base_fd, run->name, 0700) < 0 && (errno != EEXIST || !again))
        return RUN_ERROR;
    claim = run_dir_lock(run, LOCK_SH);
    if (claim == RUN_CLAIMED)
        return claim;
    error = errno;
    /* Made, but of no use: nobody else would remove it before the next gc. */
    if (claim == RUN_ERROR) {
        unlinkat(run->fd, RUN_LOCK_FILE, 0);
        unlinkat(run->base_fd, run->name, AT_REMOVEDIR);
    }
    fd_close(&run->fd);
    fd_close(&run->lock_fd);
    errno = claim == RUN_ERROR ? error : EBUSY;
    return claim;
}

int run_dir_create_in(struct run_dir *run, int base_fd, const char *run_id, struct err *err)
{
    struct timespec moment = {.tv_nsec = 1000000};
    int length;

    *run = (struct run_dir)RUN_DIR_INIT;
    run->base_fd = base_fd;
    length = snprintf(run->name, sizeof(run->name), RUN_PREFIX "%s", run_id);
    must(length < (int)sizeof(run->name));
    for (int attempt = 0; attempt < CREATE_ATTEMPTS_MAX; attempt++) {
        enum run_claim claim = run_dir_try(run, attempt > 0);

        if (claim == RUN_CLAIMED)
            return 0;
        if (claim == RUN_ERROR || claim == RUN_FOREIGN)
            break;
        nanosleep(&moment, NULL); /* a gc has it and is about to remove it */
    }
    err_sys(err, "cannot create the run directory %s", run->name);
    run_dir_close(run);
    return -1;
}

int run_dir_create(struct run_dir *run, const char *run_id, struct err *err)
{
    char path[RUN_BASE_BYTES];
    int base_fd;

    *run = (struct run_dir)RUN_DIR_INIT;
    if (!run_base_path(0, path))
        run_base_path(1, path);
    base_fd = run_base_open(path, true, err);
    return base_fd < 0 ? -1 : run_dir_create_in(run, base_fd, run_id, err);
}

int run_dir_record(const struct run_dir *run, int output_fd, struct err *err)
{
    AUTO_FD int fd =
        openat(run->fd, RUN_STATE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char text[STATE_HEAD_BYTES + PATH_MAX], link[32];
    struct stat status;
    ssize_t path_bytes;
    int head;

    if (fd < 0 || fstat(output_fd, &status) < 0)
        return err_sys(err, "cannot write the state of the run");
    head = snprintf(
        text, STATE_HEAD_BYTES, STATE_FORMAT, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", output_fd);
    path_bytes = readlink(link, text + head, PATH_MAX);
    if (path_bytes < 0)
        return err_sys(err, "cannot find the path of the output directory (is /proc mounted?)");
    if (fd_write_all(fd, text, (size_t)head + (size_t)path_bytes) < 0)
        return err_sys(err, "cannot write the state of the run");
    return 0;
}

int run_dir_record_cgroup(const struct run_dir *run, const char *self, struct err *err)
{
    AUTO_FD int fd = openat(
        run->fd, RUN_CGROUP_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || fd_write_all(fd, self, strlen(self)) < 0)
        return err_sys(err, "cannot write down the cgroup of the run");
    return 0;
}

int run_dir_share(const struct run_dir *run, struct err *err)
{
    char path[32];
    AUTO_FD int fd = -1;

    /* Not by its name: a runtime directory goes away at logout, and the run goes on. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", run->lock_fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
        return err_sys(err, "cannot share the lock of the run directory (is /proc mounted?)");
    return fd_take(&fd);
}

void run_dir_close(struct run_dir *run)
{
    fd_close(&run->lock_fd);
    fd_close(&run->fd);
    fd_close(&run->base_fd);
}

void run_dir_remove(struct run_dir *run)
{
    if (run->lock_fd >= 0) {
        /* In this order: without a lock file there is nothing left to be careful about. */
        unlinkat(run->fd, RUN_STATE_FILE, 0);
        unlinkat(run->fd, RUN_CGROUP_FILE, 0);
        unlinkat(run->fd, RUN_LOCK_FILE, 0);
        unlinkat(run->base_fd, run->name, AT_REMOVEDIR);
    }
    run_dir_close(run);
}

/* ---- gc -------------------------------------------------------------------------------------- */

enum run_claim run_dir_claim(struct run_dir *run, int base_fd, const char *name, struct err *err)
{
    enum run_claim claim;

    *run = (struct run_dir)RUN_DIR_INIT;
    if (!text_copy(run->name, sizeof(run->name), name))
        return RUN_FOREIGN;
    run->base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);
    claim = run->base_fd < 0 ? RUN_ERROR : run_dir_lock(run, LOCK_EX);
    if (claim == RUN_ERROR)
        err_sys(err, "%s: cannot lock it", run->name);
    if (claim != RUN_CLAIMED)
        run_dir_close(run);
    return claim;
}

int run_dir_discard(struct run_dir *run, uint64_t *budget, struct err *err)
{
    int failed = remove_content(run->fd, RUN_LOCK_FILE, budget, err);

    if (failed == 0) {
        unlinkat(run->fd, RUN_LOCK_FILE, 0);
        /* Another gc may be here as well: one of the two is the last. */
        if (unlinkat(run->base_fd, run->name, AT_REMOVEDIR) < 0 && errno != ENOENT &&
            errno != ENOTEMPTY)
            failed = err_sys(err, "cannot remove %s", run->name);
    }
    run_dir_close(run);
    return failed;
}

/* The file NAME of a run's own, as text. Returns its length, or -1. */
static ssize_t read_own(int run_fd, const char *name, char *text, size_t size)
{
    AUTO_FD int fd = openat(run_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    ssize_t count;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return -1;
    count = fd_read_all(fd, text, size - 1);
    if (count >= 0)
        text[count] = '\0';
    return count;
}

bool run_dir_read_cgroup(int run_fd, char self[PATH_MAX])
{
    ssize_t size = read_own(run_fd, RUN_CGROUP_FILE, self, PATH_MAX);

    return size > 0 && self[0] == '/' && strlen(self) == (size_t)size;
}

bool run_dir_read_record(int run_fd, struct run_record *record)
{
    char text[STATE_HEAD_BYTES + PATH_MAX], again[STATE_HEAD_BYTES];
    ssize_t size = read_own(run_fd, RUN_STATE_FILE, text, sizeof(text));
    const char *path;
    int head;

    if (size <= 0)
        return false;
    path = strstr(text, "\n/");
    if (!path || sscanf(text, "vmrun run directory 1\noutput %" SCNu64 " %" SCNu64, &record->device,
                     &record->inode) != 2)
        return false;
    head = snprintf(again, sizeof(again), STATE_FORMAT, record->device, record->inode);
    path++;
    /* Exactly what a run writes: nothing between the numbers and the path, no NUL in it. */
    return path - text == head && memcmp(text, again, (size_t)head) == 0 &&
           strlen(path) == (size_t)size - (size_t)head &&
           text_copy(record->path, sizeof(record->path), path);
}
