/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_files.c: what an archive says, as files (guest agent, in the process of unpack_child.c).
 * Hostile is the archive, and with it every link that it made: no name is looked up through one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/fd.h"
#include "base/text.h"
#include "gunzip.h"
#include "unpack_child.h"

/* What may follow the end mark: tar fills up to its block factor. */
enum { TRAILER_MAX_BYTES = 1 << 20, NAME_SHOWN_BYTES = 128 };

struct files {
    struct gunzip gunzip;
    int root;
    int file; /* that is being written */
    uint64_t left;
    uint64_t made; /* directories that no entry named */
    const struct tar_limits *limits;
    char name[TAR_NAME_MAX_BYTES + 1];
};

static ssize_t files_read(void *context, void *bytes, size_t size, struct err *err)
{
    struct files *files = context;

    return gunzip_read(&files->gunzip, bytes, size, err);
}

static int files_err(const struct tar_entry *entry, struct err *err)
{
    char shown[NAME_SHOWN_BYTES];
    int error = errno;

    text_escape(shown, sizeof(shown), entry->name, strlen(entry->name));
    errno = error;
    if (error == EEXIST)
        return err_set(err, "%s: it is in the archive twice", shown);
    if (error == ELOOP || error == ENOTDIR) /* a link is not followed, so it is no directory */
        return err_set(err, "%s: it lies below, or replaces, what is no directory", shown);
    return err_sys(err, "%s: cannot make it", shown);
}

/* PATH beneath the root; no link on the way or at its end, whatever the archive has made. */
static int files_open(const struct files *files, const char *path, uint64_t flags, uint64_t mode)
{
    struct open_how how = {
        .flags = flags | O_NOFOLLOW | O_CLOEXEC,
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, files->root, path[0] ? path : ".", &how, sizeof(how));
}

/* The directory in which PATH lies, and its name there. PATH is changed meanwhile. */
static int files_parent(const struct files *files, char *path, const char **base)
{
    char *slash = strrchr(path, '/');
    int fd;

    *base = slash ? slash + 1 : path;
    if (slash)
        *slash = '\0';
    fd = files_open(files, slash ? path : "", O_PATH | O_DIRECTORY, 0);
    if (slash)
        *slash = '/';
    return fd;
}

static int files_mkdir(const struct files *files, char *path)
{
    const char *base;
    AUTO_FD int parent = files_parent(files, path, &base);

    return parent < 0 ? -1 : mkdirat(parent, base, 0755);
}

/* Directories above the name that no entry has made: as many as max_files allows. */
static int files_make_parents(struct files *files)
{
    for (char *slash = strchr(files->name, '/'); slash; slash = strchr(slash + 1, '/')) {
        int failed;

        *slash = '\0';
        failed = files_mkdir(files, files->name);
        *slash = '/';
        if (failed < 0 && errno != EEXIST)
            return -1;
        if (failed == 0 && ++files->made > files->limits->entries) {
            errno = EDQUOT;
            return -1;
        }
    }
    return 0;
}

static int files_make(struct files *files, const struct tar_entry *entry)
{
    char target[TAR_NAME_MAX_BYTES + 1];
    const char *base, *from_base;
    AUTO_FD int parent = files_parent(files, files->name, &base);
    AUTO_FD int from = -1;
    struct open_how how = {.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
        .mode = entry->mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    if (parent < 0)
        return -1;
    switch (entry->kind) {
    case TAR_DIRECTORY:
        if (mkdirat(parent, base, 0755) == 0)
            return 0;
        from = errno == EEXIST ? files_open(files, files->name, O_PATH | O_DIRECTORY, 0) : -1;
        return from < 0 ? -1 : 0;
    case TAR_SYMLINK:
        return symlinkat(entry->target, parent, base);
    case TAR_HARD_LINK:
        memcpy(target, entry->target, strlen(entry->target) + 1);
        from = files_parent(files, target, &from_base);
        return from < 0 ? -1 : linkat(from, from_base, parent, base, 0);
    default:
        files->file = (int)syscall(SYS_openat2, parent, base, &how, sizeof(how));
        return files->file < 0 ? -1 : 0;
    }
}

static int files_entry(void *context, const struct tar_entry *entry, struct err *err)
{
    struct files *files = context;

    fd_close(&files->file);
    if (entry->name[0] == '\0')
        return 0; /* "./" */
    memcpy(files->name, entry->name, strlen(entry->name) + 1);
    files->left = entry->size;
    if (files_make(files, entry) == 0)
        return 0;
    if (errno != ENOENT || files_make_parents(files) < 0 || files_make(files, entry) < 0)
        return files_err(entry, err);
    return 0;
}

static int files_data(void *context, const uint8_t *bytes, size_t size, struct err *err)
{
    struct files *files = context;
    struct tar_entry entry = {.name = files->name};

    must(size <= files->left);
    files->left -= size;
    return fd_write_all(files->file, bytes, size) < 0 ? files_err(&entry, err) : 0;
}

/* To the end, where gzip has its checksum. */
static int files_pass_trailer(struct files *files, struct err *err)
{
    static uint8_t block[64 << 10];

    for (uint64_t passed = 0; passed <= TRAILER_MAX_BYTES;) {
        ssize_t count = gunzip_read(&files->gunzip, block, sizeof(block), err);

        if (count <= 0)
            return (int)count;
        passed += (uint64_t)count;
    }
    return err_set(err, "more than 1 MiB follows the end mark of the archive");
}

int unpack_archive(int feed, int directory, const struct tar_limits *limits, struct err *err)
{
    static const struct tar_ops ops = {
        .read = files_read, .entry = files_entry, .data = files_data};
    static struct files files; /* the one archive of the process; too large for a stack */
    int failed = gunzip_begin(&files.gunzip, feed, err);

    files.root = directory;
    files.file = -1;
    files.made = 0;
    files.limits = limits;
    if (failed == 0)
        failed = tar_read(&ops, &files, limits, err);
    if (failed == 0)
        failed = files_pass_trailer(&files, err);
    fd_close(&files.file);
    gunzip_end(&files.gunzip);
    return failed;
}
