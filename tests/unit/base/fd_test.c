/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=write -Wl,--wrap=pwrite */
/* fd_test.c: descriptors are owned once; transfers are whole or say how far they came. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/unit.h"

/* A file system that takes nothing and calls that no error. */
enum { TAKES_NOTHING_FD = 1000, PATIENCE = 3 };
static int asked;

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (fd != TAKES_NOTHING_FD)
        return __real_write(fd, bytes, size);
    assert_true(asked++ < PATIENCE);
    return 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (fd != TAKES_NOTHING_FD)
        return __real_pwrite(fd, bytes, size, offset);
    assert_true(asked++ < PATIENCE);
    return 0;
}

static bool fd_is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int make_file(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void closing_keeps_errno_and_takes_nothing_twice(void **state)
{
    int fd = make_file();
    int number = fd;

    (void)state;
    errno = ENOENT;
    fd_close(&fd);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fd, -1);
    assert_false(fd_is_open(number));
    fd_close(&fd);
    assert_int_equal(fd, -1);
}

static void scopes_close_what_was_not_taken(void **state)
{
    int kept, closed;

    (void)state;
    {
        AUTO_FD int fd = make_file();
        AUTO_FD int other = make_file();

        closed = fd;
        kept = fd_take(&other);
        assert_int_equal(other, -1);
    }
    assert_false(fd_is_open(closed));
    assert_true(fd_is_open(kept));
    close(kept);
}

static void memory_is_freed_or_taken(void **state)
{
    char *kept;

    (void)state;
    {
        AUTO_FREE char *freed = strdup("freed"); /* a leak would end this test */
        AUTO_FREE char *text = strdup("kept");

        assert_non_null(freed);
        kept = take(&text);
        assert_null(text);
    }
    assert_string_equal(kept, "kept");
    free(kept);
}

static void files_are_read_and_written_whole(void **state)
{
    AUTO_FD int fd = make_file();
    struct err err = ERR_INIT;
    char buffer[8];
    uint64_t size;

    (void)state;
    assert_int_equal(fd_pwrite_all(fd, "world", 5, 6), 0);
    assert_int_equal(fd_pwrite_all(fd, "hello ", 6, 0), 0);
    assert_int_equal(fd_size(fd, &size, &err), 0);
    assert_true(size == 11);
    assert_int_equal(fd_pread_all(fd, buffer, 5, 6), 5);
    assert_memory_equal(buffer, "world", 5);
    assert_int_equal(fd_pread_all(fd, buffer, 8, 6), 5);
    assert_int_equal(fd_pread_all(fd, buffer, 8, 11), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(fd_read_all(fd, buffer, 6), 6);
    assert_int_equal(fd_read_all(fd, buffer, 8), 5);
    assert_int_equal(fd_write_all(fd, "!", 1), 0);
    assert_int_equal(fd_size(fd, &size, &err), 0);
    assert_true(size == 12);
}

static void failures_have_an_errno(void **state)
{
    struct err err = ERR_INIT;
    uint64_t size = 5;
    char byte = 0;

    (void)state;
    assert_int_equal(fd_read_all(-1, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(fd_pread_all(-1, &byte, 1, 0), -1);
    assert_int_equal(fd_write_all(-1, &byte, 1), -1);
    assert_int_equal(fd_pwrite_all(-1, &byte, 1, 0), -1);
    assert_int_equal(fd_size(-1, &size, &err), -1);
    assert_int_equal(err.errnum, EBADF);
    assert_true(size == 5);
    assert_int_equal(fd_set_nonblocking(-1, &err), -1);
    assert_int_equal(err.errnum, EBADF);
}

static void a_write_of_nothing_is_a_failure(void **state)
{
    (void)state;
    errno = 0;
    assert_int_equal(fd_write_all(TAKES_NOTHING_FD, "x", 1), -1);
    assert_int_equal(errno, EIO);
    errno = 0;
    assert_int_equal(fd_pwrite_all(TAKES_NOTHING_FD, "x", 1, 0), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(fd_write_all(TAKES_NOTHING_FD, "", 0), 0); /* nothing was to be written */
    assert_int_equal(asked, 2);
}

/* A pipe gives at most its capacity at once, so both sides need several transfers. */
static void short_transfers_are_continued(void **state)
{
    static uint8_t out[1 << 18], in[1 << 18];
    int ends[2], status = 1;
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (uint8_t)(i * 7 >> 3);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(fd_write_all(ends[1], out, sizeof(out)) == 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(fd_read_all(ends[0], in, sizeof(in)), sizeof(in));
    assert_memory_equal(in, out, sizeof(in));
    assert_int_equal(fd_read_all(ends[0], in, 1), 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void nonblocking_keeps_other_flags(void **state)
{
    struct err err = ERR_INIT;
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fd_set_nonblocking(ends[0], &err), 0);
    assert_int_equal(read(ends[0], &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(ends[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    close(ends[0]);
    close(ends[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(closing_keeps_errno_and_takes_nothing_twice),
    cmocka_unit_test(scopes_close_what_was_not_taken),
    cmocka_unit_test(memory_is_freed_or_taken),
    cmocka_unit_test(files_are_read_and_written_whole),
    cmocka_unit_test(failures_have_an_errno),
    cmocka_unit_test(a_write_of_nothing_is_a_failure),
    cmocka_unit_test(short_transfers_are_continued),
    cmocka_unit_test(nonblocking_keeps_other_flags),
};

UNIT_MAIN(tests)
