/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.h: a fresh directory for what a test of the extractor writes. */
#ifndef TESTS_UNIT_EXTRACTOR_OUT_DIR_H
#define TESTS_UNIT_EXTRACTOR_OUT_DIR_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

struct out_dir {
    char path[64];
    int fd;
};

static inline void out_dir_make(struct out_dir *out)
{
    strcpy(out->path, "/tmp/vmrun-unit-XXXXXX");
    assert_non_null(mkdtemp(out->path));
    out->fd = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(out->fd >= 0);
    umask(022);
}

static inline int out_dir_remove_one(
    const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static inline void out_dir_remove(struct out_dir *out)
{
    if (out->path[0])
        nftw(out->path, out_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    fd_close(&out->fd);
    out->path[0] = '\0';
}

static int out_dir_entries;

static inline int out_dir_count_one(
    const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)path, (void)info, (void)kind, (void)at;
    out_dir_entries++;
    return 0;
}

/* Files and directories below OUT. */
static inline int out_dir_count(const struct out_dir *out)
{
    out_dir_entries = 0;
    assert_int_equal(nftw(out->path, out_dir_count_one, 16, FTW_PHYS), 0);
    return out_dir_entries - 1;
}

/* PATH below OUT is a regular file of MODE with exactly these bytes. */
static inline void out_dir_expect_file(
    const struct out_dir *out, const char *path, mode_t mode, const void *bytes, size_t size)
{
    int fd = openat(out->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    uint8_t *there = malloc(size + 1);
    struct stat info;

    if (fd < 0)
        fail_msg("there is no file %s", path);
    assert_int_equal(fstat(fd, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(info.st_mode & 07777, mode);
    assert_non_null(there);
    assert_int_equal(fd_read_all(fd, there, size + 1), size);
    assert_memory_equal(there, bytes, size);
    free(there);
    close(fd);
}

static inline void out_dir_expect_dir(const struct out_dir *out, const char *path)
{
    struct stat info;

    assert_int_equal(fstatat(out->fd, path, &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 0777, 0755);
}

#endif
