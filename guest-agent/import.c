/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c: see import.h. The archive is the supervisor's work, the names in it are the user's; the
 * kernel keeps every name below the root (openat2), so none is judged here.
 */
#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/fd.h"
#include "base/num.h"
#include "unpack.h"
#include "wire/archive.h"

enum { IMPORT_BUFFER_BYTES = 1 << 20, IMPORT_MODE_MASK = 01777 };

struct import {
    int fd;
    int root_fd;
    const struct job *job;
    int file_fd;
    bool unpacking; /* the file is an archive, and what it holds is wanted */
    struct unpack unpack;
    uint64_t file_size;
    uint64_t file_end; /* where the last extent ended */
    uint64_t records;
    size_t start, end; /* of what is left in the buffer */
    uint8_t *buffer;
    char name[ARCHIVE_NAME_MAX_BYTES + 1]; /* of the last DIR or FILE */
};

/* At least one unread byte in the buffer, or an error. */
static int import_fill(struct import *import, struct err *err)
{
    ssize_t count;

    if (import->start < import->end)
        return 0;
    count = fd_read_all(import->fd, import->buffer, IMPORT_BUFFER_BYTES);
    if (count < 0)
        return err_sys(err, "cannot read the import disk");
    if (count == 0)
        return err_set(err, "the import disk ends inside its archive");
    import->start = 0;
    import->end = (size_t)count;
    return 0;
}

static int import_read(struct import *import, void *to, size_t size, struct err *err)
{
    uint8_t *bytes = to;

    while (size > 0) {
        size_t part;

        if (import_fill(import, err) < 0)
            return -1;
        part = size_min(size, import->end - import->start);
        memcpy(bytes, import->buffer + import->start, part);
        import->start += part;
        bytes += part;
        size -= part;
    }
    return 0;
}

static int import_sys(const struct import *import, struct err *err)
{
    return err_sys(err, "cannot put the input %s into the guest", import->name);
}

/* The directory that the current name lies in, and the name within it. */
static int import_parent(struct import *import, const char **base)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    char *slash = strrchr(import->name, '/');
    long fd;

    *base = slash ? slash + 1 : import->name;
    if (slash)
        *slash = '\0';
    fd = syscall(SYS_openat2, import->root_fd, slash ? import->name : ".", &how, sizeof(how));
    if (slash)
        *slash = '/';
    return (int)fd;
}

static int import_directory(struct import *import, uint32_t mode, struct err *err)
{
    const char *base;
    AUTO_FD int parent = import_parent(import, &base);
    AUTO_FD int fd = -1;

    if (parent < 0)
        return import_sys(import, err);
    if (mkdirat(parent, base, 0700) < 0 && errno != EEXIST)
        return import_sys(import, err);
    fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchown(fd, import->job->uid, import->job->gid) < 0 ||
        fchmod(fd, mode & IMPORT_MODE_MASK) < 0)
        return import_sys(import, err);
    return 0;
}

static int import_create(
    struct import *import, const struct archive_record *record, struct err *err)
{
    const char *base;
    AUTO_FD int parent = import_parent(import, &base);

    if (parent < 0)
        return import_sys(import, err);
    import->file_fd =
        openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (import->file_fd < 0 || fchown(import->file_fd, import->job->uid, import->job->gid) < 0 ||
        fchmod(import->file_fd, record->mode & IMPORT_MODE_MASK) < 0)
        return import_sys(import, err);
    /* A length without data: what no extent covers stays a hole. */
    if (ftruncate(import->file_fd, (off_t)record->size) < 0)
        return import_sys(import, err);
    return 0;
}

/* An archive: a directory of its name, into which another process unpacks it. */
static int import_unpack_begin(struct import *import, struct err *err)
{
    const char *base;
    AUTO_FD int parent = -1;
    AUTO_FD int directory = -1;

    if (import_directory(import, 0755, err) < 0)
        return -1;
    parent = import_parent(import, &base);
    if (parent >= 0)
        directory = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return import_sys(import, err);
    import->unpacking = true;
    if (unpack_start(&import->unpack, import->job, directory, err) < 0)
        return err_wrap(err, "cannot unpack the input %s", import->name);
    return 0;
}

static int import_file(struct import *import, const struct archive_record *record, struct err *err)
{
    const struct job *job = import->job;

    if (record->size > INT64_MAX)
        return err_set(err, "the import archive has a file that is too large");
    import->file_size = record->size;
    import->file_end = 0;
    for (size_t i = 0; i < job->unpack_count; i++) {
        if (strcmp(job->unpacks[i], import->name) == 0)
            return import_unpack_begin(import, err);
    }
    return import_create(import, record, err);
}

/* The zeroes of a hole, which a process that reads a pipe has to be told. */
static int import_feed_hole(struct import *import, uint64_t end, struct err *err)
{
    static uint8_t zeroes[64 << 10]; /* never written: no bytes of the executable */

    while (import->file_end < end && !import->unpack.full) {
        size_t part = (size_t)u64_min(end - import->file_end, sizeof(zeroes));

        if (unpack_feed(&import->unpack, zeroes, part, err) < 0)
            return -1;
        import->file_end += part;
    }
    return 0;
}

/* No more of the current file follows. */
static int import_file_done(struct import *import, struct err *err)
{
    fd_close(&import->file_fd);
    if (!import->unpacking)
        return 0;
    if (import_feed_hole(import, import->file_size, err) < 0)
        return err_wrap(err, "cannot unpack the input %s", import->name);
    import->unpacking = false;
    if (unpack_finish(&import->unpack, err) < 0)
        return err_wrap(err, "cannot unpack the input %s", import->name);
    return 0;
}

/* SIZE bytes of the current file, at OFFSET. */
static int import_data(
    struct import *import, const uint8_t *bytes, size_t size, uint64_t offset, struct err *err)
{
    if (import->unpacking)
        return unpack_feed(&import->unpack, bytes, size, err);
    if (fd_pwrite_all(import->file_fd, bytes, size, offset) < 0)
        return import_sys(import, err);
    return 0;
}

static int import_extent(
    struct import *import, const struct archive_record *record, struct err *err)
{
    uint64_t offset = record->offset, left = record->size;

    if ((import->file_fd < 0 && !import->unpacking) || offset < import->file_end ||
        !range_within(offset, left, import->file_size))
        return err_set(err, "the import archive has an extent where none may be");
    if (import->unpacking && import_feed_hole(import, offset, err) < 0)
        return -1;
    import->file_end = offset + left;
    while (left > 0) {
        size_t part;

        if (import_fill(import, err) < 0)
            return -1;
        part = (size_t)u64_min(left, import->end - import->start);
        if (import_data(import, import->buffer + import->start, part, offset, err) < 0)
            return -1;
        import->start += part;
        offset += part;
        left -= part;
    }
    return 0;
}

/* Returns 1 when there is more to come, 0 at the end. */
static int import_record(struct import *import, struct err *err)
{
    uint8_t raw_record[ARCHIVE_RECORD_BYTES];
    struct archive_record record;

    if (import_read(import, raw_record, sizeof(raw_record), err) < 0 ||
        archive_get_record(raw_record, &record, err) < 0)
        return -1;
    if (record.kind == ARCHIVE_EXTENT)
        return import_extent(import, &record, err) < 0 ? -1 : 1;
    if (import_file_done(import, err) < 0)
        return -1;
    if (record.kind == ARCHIVE_END && record.size != import->records)
        return err_set(err, "the import archive counts its records wrongly");
    if (record.kind == ARCHIVE_END)
        return 0;
    if (import_read(import, import->name, record.name_bytes, err) < 0)
        return -1;
    import->name[record.name_bytes] = '\0';
    if (memchr(import->name, '\0', record.name_bytes))
        return err_set(err, "the import archive has a name with a NUL byte");
    if (record.kind == ARCHIVE_DIR)
        return import_directory(import, record.mode, err) < 0 ? -1 : 1;
    if (record.kind == ARCHIVE_FILE)
        return import_file(import, &record, err) < 0 ? -1 : 1;
    return err_set(err, "the import archive has a record that only an export has");
}

int import_unpack(int fd, int root_fd, const struct job *job, struct err *err)
{
    static uint8_t buffer[IMPORT_BUFFER_BYTES];
    struct import import = {
        .fd = fd, .root_fd = root_fd, .job = job, .file_fd = -1, .buffer = buffer};
    uint8_t header[ARCHIVE_HEADER_BYTES];
    int more;

    if (import_read(&import, header, sizeof(header), err) < 0 ||
        archive_get_header(header, err) < 0)
        return -1;
    while ((more = import_record(&import, err)) > 0)
        import.records++;
    fd_close(&import.file_fd);
    /* What is exported next must not change under it. */
    if (import.unpacking)
        unpack_stop(&import.unpack);
    return more;
}
