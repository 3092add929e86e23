/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: a folder of its own for each test, with files made by one call. */
#ifndef TESTS_GUEST_AGENT_TREE_H
#define TESTS_GUEST_AGENT_TREE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

struct tree {
    char path[32];
    int fd;
};

static inline void tree_make(struct tree *tree)
{
    strcpy(tree->path, "/tmp/vmrun-unit-XXXXXX");
    assert_non_null(mkdtemp(tree->path));
    tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(tree->fd >= 0);
}

static inline void tree_remove(struct tree *tree)
{
    char command[64];

    fd_close(&tree->fd);
    snprintf(command, sizeof(command), "rm -rf %s", tree->path);
    assert_int_equal(system(command), 0);
}

static inline void tree_dir(const struct tree *tree, const char *path, mode_t mode)
{
    assert_int_equal(mkdirat(tree->fd, path, 0700), 0);
    assert_int_equal(fchmodat(tree->fd, path, mode, 0), 0);
}

/* SIZE bytes of TEXT at OFFSET of the file, which is made if it is not there. */
static inline void tree_write(
    const struct tree *tree, const char *path, const void *bytes, size_t size, uint64_t offset)
{
    int fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(fd_pwrite_all(fd, bytes, size, offset), 0);
    fd_close(&fd);
}

static inline void tree_file(const struct tree *tree, const char *path, const char *text)
{
    tree_write(tree, path, text, strlen(text), 0);
}

#endif
