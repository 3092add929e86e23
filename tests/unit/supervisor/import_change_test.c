/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/importing.c */
/*
 * import_change_test.c: inputs that change while the archive is written are refused. It goes into a
 * pipe, whose reader makes the changes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/supervisor/importing.h"

enum { BIG_BYTES = 64 * 65536 }; /* more than a pipe holds */

static void make_big_file(const char *name)
{
    AUTO_FREE char *path = in_root(name);
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT, 0644);
    static char filler[65536] = "filler";

    assert_true(fd >= 0);
    for (uint64_t at = 0; at < BIG_BYTES; at += sizeof(filler)) /* written: no holes */
        assert_int_equal(fd_pwrite_all(fd, filler, sizeof(filler), at), 0);
}

/* CHANGE happens when packing waits for its reader, who finds SECRET nowhere. */
static void refuse_change(int (*change)(void), const char *message)
{
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char block[65536 + 1];
        ssize_t count;

        close(ends[1]);
        if (read(ends[0], block, 1) != 1)
            _exit(1);
        usleep(50000); /* times of files are only as fine as the kernel's tick */
        if (change() < 0)
            _exit(2);
        while ((count = read(ends[0], block, sizeof(block) - 1)) > 0) {
            if (memmem(block, (size_t)count, "secret", 6))
                _exit(3);
        }
        _exit(0);
    }
    close(ends[0]);
    fd_close(&archive);
    archive = ends[1];
    assert_refused(message);
    fd_close(&archive);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int with_big(int (*change)(int fd))
{
    AUTO_FREE char *path = in_root("d/big");
    AUTO_FD int fd = open(path, O_RDWR);

    return fd < 0 ? -1 : change(fd);
}

static int overwrite(int fd)
{
    return pwrite(fd, "x", 1, 0) == 1 ? 0 : -1;
}

static int grow(int fd)
{
    return pwrite(fd, "x", 1, BIG_BYTES) == 1 ? 0 : -1;
}

static int shrink(int fd)
{
    return ftruncate(fd, 65536);
}

static int overwrite_big(void)
{
    return with_big(overwrite);
}

static int grow_big(void)
{
    return with_big(grow);
}

static int shrink_big(void)
{
    return with_big(shrink);
}

/* The mtime can be set back, the ctime not. */
static int overwrite_and_hide(void)
{
    AUTO_FREE char *path = in_root("d/big");
    struct stat before;

    if (stat(path, &before) < 0 || with_big(overwrite) < 0)
        return -1;
    return utimensat(AT_FDCWD, path, (const struct timespec[]){before.st_atim, before.st_mtim}, 0);
}

static void a_file_that_changes_is_refused(void **state)
{
    static const struct {
        int (*change)(void);
        const char *message;
    } cases[] = {{overwrite_big, "in/big: it changed while it was read"},
        {grow_big, "in/big: it changed while it was read"},
        {shrink_big, "in/big: it became shorter while it was read"},
        {overwrite_and_hide, "in/big: it changed while it was read"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        make_directory("d");
        make_big_file("d/big");
        add_input("in", "d");
        refuse_change(cases[i].change, cases[i].message);
    }
}

/* d/next was listed, and is opened after d/big. */
static int next_becomes_a_link(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path) < 0 ? -1 : symlink("../secret", path);
}

static int next_becomes_a_fifo(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path) < 0 ? -1 : mkfifo(path, 0644);
}

static int next_vanishes(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path);
}

static int another_appears(void)
{
    AUTO_FREE char *path = in_root("d/new");

    return mkdir(path, 0755);
}

static void an_entry_that_is_replaced_is_refused(void **state)
{
    static const struct {
        int (*change)(void);
        uint32_t follow;
        const char *message;
    } cases[] = {{next_becomes_a_link, 0, "in/next: it is a symbolic link"},
        {next_becomes_a_link, 1, "in/next: it is a symbolic link that leads out"},
        {next_becomes_a_fifo, 0, "in/next: it is a FIFO"},
        {next_vanishes, 0, "in/next: cannot open it: No such file"},
        {another_appears, 0, "in: it changed while it was read"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        make_file("secret", "secret", 0644);
        make_directory("d");
        make_big_file("d/big");
        make_file("d/next", "next", 0644);
        add_input("in", "d");
        config.input_follow = cases[i].follow;
        refuse_change(cases[i].change, cases[i].message);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(a_file_that_changes_is_refused),
    TEST(an_entry_that_is_replaced_is_refused),
};

UNIT_MAIN(tests)
