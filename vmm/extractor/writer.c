/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c: see writer.h. Content is hostile and opaque; it is hashed on its way to the file. */
#include "extractor/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "extractor/beneath.h"
#include "base/sha256.h"

enum {
    ZERO_BLOCK_BYTES = 64 * 1024,
    /*
     * So many entries are synced one by one. An fsync costs about 2 ms on a quiet disk, a syncfs 60
     * for a thousand files, which are 2 s one by one; but it waits for what others have written.
     */
    SYNC_EACH_MAX = 16,
};

struct file_writer {
    int dir_fd;
    int fd;                /* of the open file, or -1 */
    uint64_t offset_bytes; /* where its last data ended; hashed up to here */
    struct sha256 hash;
    bool lasts;
    size_t made_count; /* entries that are to be synced; past SYNC_EACH_MAX it counts no more */
    int made_fds[SYNC_EACH_MAX];
};

struct file_writer *file_writer_make(int dir_fd, bool lasts, struct err *err)
{
    struct file_writer *writer = calloc(1, sizeof(*writer));

    if (!writer) {
        err_sys(err, "no memory for the file writer");
        return NULL;
    }
    writer->dir_fd = dir_fd;
    writer->fd = -1;
    writer->lasts = lasts;
    return writer;
}

/* Close what waits for a sync. Some file systems report a full disk or a quota only here. */
static int writer_let_go(struct file_writer *writer)
{
    int failed = 0;

    for (size_t i = 0; i < writer->made_count && i < SYNC_EACH_MAX; i++) {
        if (writer->made_fds[i] >= 0 && close(fd_take(&writer->made_fds[i])) < 0)
            failed = -1;
    }
    return failed;
}

/* FD, of an entry that is made, is taken over. -1 with errno. */
static int writer_keep(struct file_writer *writer, int fd)
{
    if (writer->lasts && writer->made_count < SYNC_EACH_MAX) {
        writer->made_fds[writer->made_count++] = fd;
        return 0;
    }
    if (writer->lasts && writer->made_count == SYNC_EACH_MAX) {
        writer->made_count++; /* too many: a syncfs will do */
        if (writer_let_go(writer) < 0) {
            fd_close(&fd);
            return -1;
        }
    }
    return close(fd);
}

void file_writer_free(struct file_writer *writer)
{
    if (!writer)
        return;
    fd_close(&writer->fd);
    writer_let_go(writer);
    free(writer);
}

/*
 * There is no mkdirat2: the directory above PATH is opened beneath ours, then one component is
 * named in it. Returns an fd, or -1; *NAME is that component, inside PATH.
 */
static int open_parent(
    struct file_writer *writer, const char *path, const char **name, struct err *err)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    int fd;

    *name = slash ? slash + 1 : path;
    if (!parent)
        return err_sys(err, "no memory for a path");
    fd = open_beneath(writer->dir_fd, parent, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return err_sys(err, "cannot open an output directory");
    return fd;
}

int file_writer_mkdir(struct file_writer *writer, const char *path, struct err *err)
{
    const char *name;
    AUTO_FD int parent_fd = open_parent(writer, path, &name, err);
    int fd;

    if (parent_fd < 0)
        return -1;
    if (mkdirat(parent_fd, name, 0755) < 0)
        return err_sys(err, "cannot create an output directory");
    if (!writer->lasts || writer->made_count > SYNC_EACH_MAX)
        return 0;
    fd = open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || writer_keep(writer, fd) < 0)
        return err_sys(err, "cannot open an output directory that was created");
    return 0;
}

int file_writer_drop(struct file_writer *writer, const char *path, struct err *err)
{
    const char *name;
    AUTO_FD int parent_fd = open_parent(writer, path, &name, err);

    fd_close(&writer->fd);
    if (parent_fd < 0)
        return -1;
    if (unlinkat(parent_fd, name, 0) < 0)
        return err_sys(err, "cannot remove an incomplete output file");
    return 0;
}

int file_writer_begin(
    struct file_writer *writer, const char *path, bool executable, struct err *err)
{
    must(writer->fd < 0);
    sha256_begin(&writer->hash);
    writer->offset_bytes = 0;
    writer->fd =
        open_beneath(writer->dir_fd, path, O_CREAT | O_EXCL | O_WRONLY, executable ? 0755 : 0644);
    if (writer->fd < 0)
        return err_sys(err, "cannot create an output file");
    return 0;
}

/* Hash the hole before END: the work is bounded by the cap on logical bytes. */
static void writer_hash_hole(struct file_writer *writer, uint64_t end)
{
    static const uint8_t zeros[ZERO_BLOCK_BYTES];

    must(end >= writer->offset_bytes);
    while (writer->offset_bytes < end) {
        size_t step = (size_t)u64_min(end - writer->offset_bytes, sizeof(zeros));

        sha256_add(&writer->hash, zeros, step);
        writer->offset_bytes += step;
    }
}

int file_writer_data(
    struct file_writer *writer, uint64_t offset, const uint8_t *bytes, size_t size, struct err *err)
{
    writer_hash_hole(writer, offset);
    sha256_add(&writer->hash, bytes, size);
    writer->offset_bytes += size;
    if (fd_pwrite_all(writer->fd, bytes, size, offset) < 0)
        return err_sys(err, "cannot write an output file");
    return 0;
}

int file_writer_end(
    struct file_writer *writer, uint64_t size, uint8_t digest[FILE_DIGEST_BYTES], struct err *err)
{
    if (size > writer->offset_bytes && ftruncate(writer->fd, (off_t)size) < 0)
        return err_sys(err, "cannot set the size of an output file");
    writer_hash_hole(writer, size);
    sha256_end(&writer->hash, digest);
    if (writer_keep(writer, fd_take(&writer->fd)) < 0)
        return err_sys(err, "cannot finish an output file");
    return 0;
}

int file_writer_sync(struct file_writer *writer, struct err *err)
{
    int failed = 0;

    if (writer->made_count > SYNC_EACH_MAX) /* it reports what failed since */
        failed = syncfs(writer->dir_fd);
    for (size_t i = 0; i < writer->made_count && i < SYNC_EACH_MAX && failed == 0; i++) {
        if (writer->made_fds[i] >= 0)
            failed = fsync(writer->made_fds[i]);
    }
    if (failed < 0 || writer_let_go(writer) < 0)
        return err_sys(err, "cannot bring the output to stable storage");
    return 0;
}
