/* SPDX-License-Identifier: Apache-2.0 */
/* import.c: see import.h. */
#include "supervisor/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/config_value.h"
#include "supervisor/input_open.h"
#include "supervisor/text_list.h"
#include "wire/archive.h"

enum { NAME_SHOWN_BYTES = 512 };

struct packing {
    const struct config *config;
    FILE *out;
    uint64_t bytes;      /* written */
    uint64_t data_bytes; /* of those, content of files */
    uint64_t entries;
    uint64_t records;
    int root; /* of the input that is packed */
};

/* A directory that is being packed, below another. */
struct level {
    const struct level *up;
    dev_t device;
    ino_t inode;
    unsigned depth;
};

static int pack_bytes(struct packing *packing, const void *bytes, size_t size, struct err *err)
{
    if (fwrite(bytes, 1, size, packing->out) != size)
        return err_sys(err, "cannot write the import disk");
    packing->bytes += size;
    return 0;
}

static int pack_record(
    struct packing *packing, const struct archive_record *record, const char *name, struct err *err)
{
    uint8_t bytes[ARCHIVE_RECORD_BYTES];

    packing->records++;
    archive_put_record(bytes, record);
    if (pack_bytes(packing, bytes, sizeof(bytes), err) < 0)
        return -1;
    return pack_bytes(packing, name, record->name_bytes, err);
}

static int pack_named(struct packing *packing, enum archive_kind kind, const char *name,
    uint32_t mode, uint64_t size, struct err *err)
{
    size_t length = strlen(name);
    struct archive_record record = {.kind = kind, .mode = mode, .size = size};

    if (length > ARCHIVE_NAME_MAX_BYTES)
        return err_set(err, "its path is longer than %d bytes", ARCHIVE_NAME_MAX_BYTES);
    if (packing->entries == packing->config->input_files)
        return err_set(err,
            "more than %llu files and directories; raise [input_options] max_files, or pack them "
            "into an archive",
            (unsigned long long)packing->config->input_files);
    packing->entries++;
    record.name_bytes = (uint32_t)length;
    return pack_record(packing, &record, name, err);
}

static int count_data(struct packing *packing, uint64_t size, struct err *err)
{
    uint64_t limit = packing->config->input_total_bytes;
    char most[32];

    if (size <= limit - packing->data_bytes) {
        packing->data_bytes += size;
        return 0;
    }
    value_size_text(most, limit);
    return err_set(err,
        "with it the inputs have more than %s; raise [input_options] max_total "
        "(and [limits] disk, which has to hold them)",
        most);
}

/* One stretch of data of a file. */
static int pack_extent(
    struct packing *packing, int fd, uint64_t start, uint64_t size, struct err *err)
{
    struct archive_record record = {.kind = ARCHIVE_EXTENT, .size = size, .offset = start};
    uint8_t buffer[65536];

    if (count_data(packing, size, err) < 0 || pack_record(packing, &record, "", err) < 0)
        return -1;
    while (size > 0) {
        size_t want = (size_t)u64_min(size, sizeof(buffer));
        ssize_t count = fd_pread_all(fd, buffer, want, start);

        if (count < 0)
            return err_sys(err, "cannot read it");
        if ((size_t)count != want)
            return err_set(err, "it became shorter while it was read");
        if (pack_bytes(packing, buffer, want, err) < 0)
            return -1;
        start += want;
        size -= want;
    }
    return 0;
}

static int pack_content(struct packing *packing, int fd, uint64_t size, struct err *err)
{
    for (uint64_t at = 0; at < size;) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        off_t hole = -1;

        if (data < 0 && errno == ENXIO)
            return 0;
        if (data < 0)
            data = (off_t)at; /* a file system without holes */
        else
            hole = lseek(fd, data, SEEK_HOLE);
        if (hole < 0 || (uint64_t)hole > size)
            hole = (off_t)size;
        if (data >= hole)
            return 0; /* it grew meanwhile: the second stat tells */
        if (pack_extent(packing, fd, (uint64_t)data, (uint64_t)(hole - data), err) < 0)
            return -1;
        at = (uint64_t)hole;
    }
    return 0;
}

static bool same_file_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int check_unchanged(int fd, const struct stat *before, struct err *err)
{
    struct stat after;

    if (fstat(fd, &after) < 0)
        return err_sys(err, "cannot stat it");
    if (!same_file_state(before, &after))
        return err_set(err, "it changed while it was read");
    return 0;
}

/* Modes of the host mean nothing to the task's user, whose files they become: only x is kept. */
static int pack_file(
    struct packing *packing, int fd, const char *name, const struct stat *before, struct err *err)
{
    uint32_t mode = before->st_mode & 0111 ? 0755 : 0644;

    if (pack_named(packing, ARCHIVE_FILE, name, mode, (uint64_t)before->st_size, err) < 0 ||
        pack_content(packing, fd, (uint64_t)before->st_size, err) < 0)
        return -1;
    return check_unchanged(fd, before, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_directory(int fd, struct text_list *names, struct err *err)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    int failed = 0;

    if (!directory) {
        fd_close(&copy);
        return err_sys(err, "cannot open the directory");
    }
    while (errno = 0, (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            text_list_keep(names, entry->d_name, err) < 0)
            break;
    }
    if (names->failed)
        failed = -1;
    else if (errno)
        failed = err_sys(err, "cannot read the directory");
    closedir(directory);
    if (names->count > 0)
        qsort(names->items, names->count, sizeof(names->items[0]), compare_names);
    return failed;
}

static int pack_tree(struct packing *packing, int fd, const char *name, const char *inner,
    const struct stat *status, const struct level *up, struct err *err);

/* ERR about NAME, whose bytes may be anything. */
static int name_err(struct err *err, const char *name)
{
    char shown[NAME_SHOWN_BYTES];

    text_escape(shown, sizeof(shown), name, strlen(name));
    return err_wrap(err, "%s", shown);
}

static int pack_child(struct packing *packing, int fd, const char *name, const char *inner,
    const char *child_name, const struct level *level, struct err *err)
{
    bool follow = packing->config->input_follow;
    AUTO_FREE char *below = text_format("%s/%s", name, child_name);
    AUTO_FREE char *path = inner[0] ? text_format("%s/%s", inner, child_name)
                                    : text_clone(child_name, strlen(child_name));
    struct stat status;

    if (!below || !path)
        return err_set(err, "out of memory");
    /* A single component of an open directory, or a path that may have links, from the top. */
    AUTO_FD int child = follow ? input_open(packing->root, path, INPUT_BENEATH_LINKS, &status, err)
                               : input_open(fd, child_name, INPUT_BENEATH, &status, err);

    if (child < 0)
        return name_err(err, below);
    return pack_tree(packing, child, below, path, &status, level, err);
}

/* What lies in the directory FD, which is packed under NAME. */
static int pack_children(struct packing *packing, int fd, const char *name, const char *inner,
    const struct level *level, struct err *err)
{
    struct text_list names = {0};
    int failed = list_directory(fd, &names, err);

    if (failed < 0)
        name_err(err, name);
    for (size_t i = 0; failed == 0 && i < names.count; i++)
        failed = pack_child(packing, fd, name, inner, names.items[i], level, err);
    text_list_free(&names);
    return failed;
}

static int pack_directory(struct packing *packing, int fd, const char *name, const char *inner,
    const struct stat *before, const struct level *up, struct err *err)
{
    struct level level = {.up = up,
        .device = before->st_dev,
        .inode = before->st_ino,
        .depth = up ? up->depth + 1 : 0};

    if (level.depth > packing->config->input_depth) {
        err_set(err, "more than %llu directories deep ([input_options] max_depth)",
            (unsigned long long)packing->config->input_depth);
        return name_err(err, name);
    }
    /* Only a link that is followed can lead up again. */
    for (const struct level *at = up; at; at = at->up) {
        if (at->device == level.device && at->inode == level.inode) {
            err_set(err, "it is a symbolic link to a directory that it lies in");
            return name_err(err, name);
        }
    }
    if (pack_named(packing, ARCHIVE_DIR, name, 0755, 0, err) < 0)
        return name_err(err, name);
    if (pack_children(packing, fd, name, inner, &level, err) < 0)
        return -1;
    return check_unchanged(fd, before, err) < 0 ? name_err(err, name) : 0;
}

/*
 * NAME is where it goes to, INNER its path below the root of the input. The depth of the recursion
 * is bounded; the tree is the user's own.
 */
static int pack_tree(struct packing *packing, int fd, const char *name, const char *inner,
    const struct stat *status, const struct level *up, struct err *err)
{
    if (S_ISDIR(status->st_mode))
        return pack_directory(packing, fd, name, inner, status, up, err);
    return pack_file(packing, fd, name, status, err) < 0 ? name_err(err, name) : 0;
}

/* The whole of one input, open at FD. */
static int pack_input(
    struct packing *packing, const struct config_input *input, int fd, struct err *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return err_sys(err, "cannot stat it");
    if (input->unpack && !S_ISREG(status.st_mode))
        return err_set(err, "it is not a file, so that it cannot be unpacked");
    packing->root = fd;
    return pack_tree(packing, fd, input->destination, "", &status, NULL, err);
}

/* Directories above DESTINATION that PREVIOUS, which was packed before, does not share. */
static int pack_parents(
    struct packing *packing, const char *destination, const char *previous, struct err *err)
{
    for (const char *slash = strchr(destination, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - destination);
        AUTO_FREE char *parent = text_clone(destination, length);

        if (!parent)
            return err_set(err, "out of memory");
        if (strncmp(previous, destination, length + 1) == 0)
            continue;
        if (pack_named(packing, ARCHIVE_DIR, parent, 0755, 0, err) < 0)
            return -1;
    }
    return 0;
}

static int pack_all(
    struct packing *packing, const struct config *config, const int *source_fds, struct err *err)
{
    uint8_t header[ARCHIVE_HEADER_BYTES];
    struct archive_record end = {.kind = ARCHIVE_END};
    const char *previous = "";

    archive_put_header(header);
    if (pack_bytes(packing, header, sizeof(header), err) < 0)
        return -1;
    for (size_t i = 0; i < config->input_count; i++) {
        const struct config_input *input = &config->inputs[i];

        if (pack_parents(packing, input->destination, previous, err) < 0 ||
            pack_input(packing, input, source_fds[i], err) < 0)
            return err_wrap(
                err, "%s: [input] %s = %s", input->where, input->destination, input->source);
        previous = input->destination;
    }
    end.size = packing->records;
    return pack_record(packing, &end, "", err);
}

int import_pack(const struct config *config, const int *source_fds, int out_fd, uint64_t *bytes,
    struct err *err)
{
    int copy = fcntl(out_fd, F_DUPFD_CLOEXEC, 0);
    struct packing packing = {.config = config, .out = copy < 0 ? NULL : fdopen(copy, "w")};
    int failed;

    if (!packing.out) {
        fd_close(&copy);
        return err_sys(err, "cannot write the import disk");
    }
    failed = pack_all(&packing, config, source_fds, err);
    if (fclose(packing.out) != 0 && failed == 0)
        failed = err_sys(err, "cannot write the import disk");
    *bytes = packing.bytes;
    return failed;
}
