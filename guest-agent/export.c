/* SPDX-License-Identifier: Apache-2.0 */
/* export.c: see export.h. No recursion: the depth is the task's choice. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "archive_out.h"
#include "base/fd.h"
#include "base/num.h"
#include "listing.h"
#include "matches.h"

/* The longest path that fits a record, and one more name behind it. */
enum { EXPORT_PATH_BYTES = ARCHIVE_NAME_MAX_BYTES + 1 + 255 + 1 };

struct export_level {
    int fd; /* of the directory */
    struct listing names;
    size_t next;        /* of the names */
    size_t path_length; /* of the directory */
};

struct exporter {
    struct archive_out *out;
    int root_fd;
    struct export_caps caps;
    char path[EXPORT_PATH_BYTES]; /* of what is looked at, relative to the root */
    size_t path_length;
    struct export_level levels[EXPORT_DEPTH_MAX];
    size_t depth;         /* open levels */
    const char *previous; /* the last declared path whose parents were written */
    uint64_t files;
    uint64_t entries;     /* files and directories */
    uint64_t total_bytes; /* of the files */
    uint64_t skipped;
};

/* ---- order of the declared paths ------------------------------------------------------------ */

/* As a walk meets them: '/' is less than any other byte. */
static int export_compare_paths(const void *a, const void *b)
{
    const unsigned char *left = *(const unsigned char *const *)a;
    const unsigned char *right = *(const unsigned char *const *)b;

    while (*left && *left == *right) {
        left++;
        right++;
    }
    if (*left == *right)
        return 0;
    if (!*left || !*right)
        return *left ? 1 : -1;
    if (*left == '/' || *right == '/')
        return *left == '/' ? -1 : 1;
    return *left < *right ? -1 : 1;
}

/* True when PATH is COVER or lies below it. */
static bool export_covers(const char *cover, const char *path)
{
    size_t length = strlen(cover);

    if (strcmp(cover, ".") == 0)
        return true;
    return strncmp(cover, path, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* ---- one entry ------------------------------------------------------------------------------ */

static long export_open_beneath(const struct exporter *exporter, const char *path, uint64_t flags)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    return syscall(SYS_openat2, exporter->root_fd, path, &how, sizeof(how));
}

/* No more are listed on the host than there may be files; the rest is only counted. */
static void export_skip(struct exporter *exporter, enum archive_skip reason)
{
    if (exporter->skipped < exporter->caps.files)
        archive_out_skipped(exporter->out, exporter->path, reason);
    exporter->skipped++;
}

static enum archive_skip export_skip_of_mode(mode_t mode)
{
    if (S_ISLNK(mode))
        return ARCHIVE_SKIP_SYMLINK;
    if (S_ISFIFO(mode))
        return ARCHIVE_SKIP_FIFO;
    if (S_ISSOCK(mode))
        return ARCHIVE_SKIP_SOCKET;
    return ARCHIVE_SKIP_DEVICE;
}

/*
 * The next run of data at or behind OFFSET. Returns 1 and the run, 0 when only a hole is left, -1
 * when the file cannot be looked at.
 */
static int export_next_data(int fd, uint64_t offset, uint64_t size, uint64_t *start, uint64_t *end)
{
    off_t data, hole;

    if (offset >= size)
        return 0;
    data = lseek(fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? 0 : -1;
    hole = lseek(fd, data, SEEK_HOLE);
    if (hole <= data)
        return -1;
    *start = (uint64_t)data;
    *end = u64_min((uint64_t)hole, size);
    return *start < size;
}

/* Most that FILE and its extents can take; counting ends where it is more than ROOM anyway. */
static int export_file_cost(
    const struct exporter *exporter, int fd, uint64_t size, uint64_t room, uint64_t *cost)
{
    uint64_t start, end = 0;
    int more;

    *cost = ARCHIVE_RECORD_BYTES + exporter->path_length;
    while (*cost <= room && (more = export_next_data(fd, end, size, &start, &end)) != 0) {
        uint64_t data = end - start;

        if (more < 0)
            return -1;
        *cost += data + (data / ARCHIVE_OUT_EXTENT_BYTES + 1) * ARCHIVE_RECORD_BYTES;
    }
    return 0;
}

/* One run of data; returns -1 when it cannot be read. */
static int export_data(struct exporter *exporter, int fd, uint64_t start, uint64_t end)
{
    while (start < end && !exporter->out->error) {
        size_t size;
        uint8_t *data = archive_out_extent_data(exporter->out, &size);
        ssize_t count = fd_pread_all(fd, data, (size_t)u64_min(size, end - start), start);

        if (count <= 0)
            return -1;
        archive_out_extent(exporter->out, start, (size_t)count);
        start += (uint64_t)count;
    }
    return 0;
}

/* 0, or the cap that a file of SIZE breaks. */
static uint32_t export_over_cap(const struct exporter *exporter, uint64_t size)
{
    if (size > exporter->caps.file_bytes)
        return ARCHIVE_SKIP_FILE_TOO_BIG;
    if (size > exporter->caps.total_bytes - exporter->total_bytes)
        return ARCHIVE_SKIP_TOTAL_TOO_BIG;
    return 0;
}

static void export_file(struct exporter *exporter, int parent, const char *name)
{
    AUTO_FD int fd =
        openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
    uint64_t room = archive_out_room(exporter->out);
    uint64_t size, cost, start, end = 0;
    struct stat status;
    uint32_t over;
    int more;

    if (fd < 0 || fstat(fd, &status) < 0) {
        export_skip(exporter, ARCHIVE_SKIP_UNREADABLE);
        return;
    }
    size = (uint64_t)status.st_size;
    over = export_over_cap(exporter, size);
    if (over) {
        export_skip(exporter, (enum archive_skip)over);
        return;
    }
    if (export_file_cost(exporter, fd, size, room, &cost) < 0) {
        export_skip(exporter, ARCHIVE_SKIP_UNREADABLE);
        return;
    }
    if (cost > room) {
        export_skip(exporter, ARCHIVE_SKIP_NO_SPACE);
        return;
    }
    archive_out_file(exporter->out, exporter->path, status.st_mode & 07777, size);
    exporter->entries++;
    while ((more = export_next_data(fd, end, size, &start, &end)) > 0) {
        if (export_data(exporter, fd, start, end) < 0)
            more = -1;
        if (more < 0)
            break;
    }
    if (more < 0) {
        /* The record takes the file back, so it is written whatever the count. */
        archive_out_skipped(exporter->out, exporter->path, ARCHIVE_SKIP_UNREADABLE);
        exporter->skipped++;
        return;
    }
    exporter->files++;
    exporter->total_bytes += size;
}

static size_t export_components(const char *path)
{
    size_t count = 1;

    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* Write the DIR record, unless it is the root, and open a level for what is in it. */
static void export_directory(struct exporter *exporter, int parent, const char *name, mode_t mode)
{
    struct export_level *level = &exporter->levels[exporter->depth];
    bool is_root = exporter->path_length == 0;
    AUTO_FD int fd = -1;
    int error;

    if (!is_root &&
        archive_out_room(exporter->out) < ARCHIVE_RECORD_BYTES + exporter->path_length) {
        export_skip(exporter, ARCHIVE_SKIP_NO_SPACE);
        return;
    }
    if (exporter->depth == EXPORT_DEPTH_MAX ||
        export_components(exporter->path) > EXPORT_DEPTH_MAX) {
        export_skip(exporter, ARCHIVE_SKIP_TOO_DEEP);
        return;
    }
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
    error = fd < 0 ? errno : listing_read(&level->names, fd);
    if (error) {
        export_skip(exporter, error == EOVERFLOW ? ARCHIVE_SKIP_TOO_MANY : ARCHIVE_SKIP_UNREADABLE);
        return;
    }
    if (!is_root) {
        archive_out_dir(exporter->out, exporter->path, mode & 07777);
        exporter->entries++;
    }
    level->fd = fd_take(&fd);
    level->next = 0;
    level->path_length = exporter->path_length;
    exporter->depth++;
}

/* NAME in the directory PARENT; its whole path is in exporter->path. */
static void export_entry(struct exporter *exporter, int parent, const char *name)
{
    bool is_root = exporter->path_length == 0;
    bool full = exporter->entries >= exporter->caps.files;
    struct stat status;

    if (full && exporter->skipped >= exporter->caps.files) {
        exporter->skipped++; /* neither wanted nor listed: not looked at */
        return;
    }
    if (exporter->path_length > ARCHIVE_NAME_MAX_BYTES)
        export_skip(exporter, ARCHIVE_SKIP_TOO_LONG);
    else if (export_components(exporter->path) > exporter->caps.depth)
        export_skip(exporter, ARCHIVE_SKIP_TOO_DEEP);
    else if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        export_skip(exporter, ARCHIVE_SKIP_UNREADABLE);
    else if (full && !is_root && (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)))
        export_skip(exporter, ARCHIVE_SKIP_TOO_MANY);
    else if (S_ISDIR(status.st_mode))
        export_directory(exporter, parent, name, status.st_mode);
    else if (S_ISREG(status.st_mode))
        export_file(exporter, parent, name);
    else
        export_skip(exporter, export_skip_of_mode(status.st_mode));
}

/* ---- trees ---------------------------------------------------------------------------------- */

static void export_set_path(struct exporter *exporter, size_t directory_length, const char *name)
{
    size_t length = strlen(name);

    must(directory_length + 1 + length < sizeof(exporter->path));
    if (directory_length)
        exporter->path[directory_length++] = '/';
    memcpy(exporter->path + directory_length, name, length + 1);
    exporter->path_length = directory_length + length;
}

/* Everything below the levels that are open, until none is. */
static void export_walk(struct exporter *exporter)
{
    while (exporter->depth > 0) {
        struct export_level *level = &exporter->levels[exporter->depth - 1];
        const char *name;

        if (level->next == level->names.count || exporter->out->error) {
            listing_free(&level->names);
            fd_close(&level->fd);
            exporter->depth--;
            continue;
        }
        name = level->names.names[level->next++];
        export_set_path(exporter, level->path_length, name);
        export_entry(exporter, level->fd, name);
    }
}

/*
 * The directories above a declared path that the one before it has not brought with it. 0, or why
 * they cannot be had.
 */
static uint32_t export_parents(struct exporter *exporter, const char *path)
{
    const char *slash = strchr(path, '/');

    for (; slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path);
        const char *previous = exporter->previous;
        struct stat status;
        AUTO_FD int fd = -1;

        if (previous && strncmp(previous, path, length) == 0 && previous[length] == '/')
            continue;
        memcpy(exporter->path, path, length);
        exporter->path[length] = '\0';
        exporter->path_length = length;
        fd = (int)export_open_beneath(exporter, exporter->path, O_PATH | O_DIRECTORY);
        if (fd < 0 || fstat(fd, &status) < 0)
            return ARCHIVE_SKIP_UNREADABLE;
        if (archive_out_room(exporter->out) < ARCHIVE_RECORD_BYTES + length)
            return ARCHIVE_SKIP_NO_SPACE;
        if (exporter->entries >= exporter->caps.files)
            return ARCHIVE_SKIP_TOO_MANY;
        archive_out_dir(exporter->out, exporter->path, status.st_mode & 07777);
        exporter->entries++;
    }
    exporter->previous = path;
    return 0;
}

/* 0, or why the declared path cannot be had at all. */
static uint32_t export_find(const struct exporter *exporter, const char *path)
{
    AUTO_FD int fd = (int)export_open_beneath(exporter, path, O_PATH | O_NOFOLLOW);

    if (fd >= 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return ARCHIVE_SKIP_MISSING;
    return errno == ELOOP ? ARCHIVE_SKIP_SYMLINK : ARCHIVE_SKIP_UNREADABLE;
}

static void export_declared(struct exporter *exporter, const char *path)
{
    char parent_path[EXPORT_PATH_BYTES] = ".";
    const char *slash = strrchr(path, '/');
    AUTO_FD int parent = -1;
    uint32_t skip = export_parents(exporter, path);

    if (skip) {
        export_set_path(exporter, 0, path);
        export_skip(exporter, (enum archive_skip)skip);
        return;
    }
    if (slash) {
        memcpy(parent_path, path, (size_t)(slash - path));
        parent_path[slash - path] = '\0';
    }
    parent = (int)export_open_beneath(exporter, parent_path, O_PATH | O_DIRECTORY);
    export_set_path(exporter, 0, strcmp(path, ".") == 0 ? "" : path);
    export_entry(exporter, parent, slash ? slash + 1 : path);
    export_walk(exporter);
}

/* The paths of MATCHES, each once, what lies below another not again. */
static void export_matches(struct exporter *exporter, struct matches *matches)
{
    const char *cover = NULL; /* the last path whose tree was walked */

    qsort(matches->paths, matches->count, sizeof(matches->paths[0]), export_compare_paths);
    for (size_t i = 0; i < matches->count && !exporter->out->error; i++) {
        const char *path = matches->paths[i];
        bool again = cover && strcmp(cover, path) == 0;
        uint32_t skip = again ? 0 : export_find(exporter, path);

        if (skip) {
            export_set_path(exporter, 0, path);
            export_skip(exporter, (enum archive_skip)skip);
        } else if (!cover || !export_covers(cover, path)) {
            export_declared(exporter, path);
        }
        if (!cover || !export_covers(cover, path))
            cover = path;
    }
}

void export_run(int root_fd, const char *const *patterns, size_t pattern_count,
    const struct export_caps *caps, int disk_fd, uint64_t disk_bytes,
    struct wire_exported *exported)
{
    /* One export per machine; the levels are too large for a stack. */
    static struct exporter exporter;
    struct matches matches = MATCHES_INIT;
    struct archive_out out;

    archive_out_begin(&out, disk_fd, disk_bytes);
    exporter = (struct exporter){.out = &out, .root_fd = root_fd, .caps = *caps};
    for (size_t i = 0; i < pattern_count; i++) {
        if (!matches_add(&matches, root_fd, patterns[i])) {
            export_set_path(&exporter, 0, patterns[i]);
            export_skip(&exporter, ARCHIVE_SKIP_TOO_MANY);
        }
    }
    export_matches(&exporter, &matches);
    exported->archive_bytes = archive_out_end(&out);
    exported->error = (uint32_t)out.error;
    exported->files = exporter.files;
    exported->skipped = exporter.skipped;
    matches_free(&matches);
}
