/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fsync,--wrap=syncfs */
/* writer_test.c: files and holes as asked for; nothing outside, nothing over what is there. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include <openssl/evp.h>

#include "extractor/writer.h"
#include "tests/unit/extractor/out_dir.h"

static struct out_dir out;
static struct file_writer *writer;
static struct err err;
static uint8_t digest[FILE_DIGEST_BYTES];

static int fsyncs, syncfss;
static bool disk_fails;

int __wrap_fsync(int fd);
int __wrap_syncfs(int fd);

int __wrap_fsync(int fd)
{
    assert_true(fcntl(fd, F_GETFD) >= 0);
    fsyncs++;
    errno = EIO;
    return disk_fails ? -1 : 0;
}

int __wrap_syncfs(int fd)
{
    assert_int_equal(fd, out.fd);
    syncfss++;
    errno = EIO;
    return disk_fails ? -1 : 0;
}

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    fsyncs = syncfss = 0;
    disk_fails = false;
    out_dir_make(&out);
    writer = file_writer_make(out.fd, true, &err);
    return writer ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    file_writer_free(writer);
    out_dir_remove(&out);
    return 0;
}

static void expect_digest(const void *bytes, size_t size)
{
    uint8_t right[FILE_DIGEST_BYTES];

    assert_int_equal(EVP_Digest(bytes, size, right, NULL, EVP_sha256(), NULL), 1);
    assert_memory_equal(digest, right, sizeof(right));
}

static void files_and_modes(void **state)
{
    (void)state;
    assert_int_equal(file_writer_mkdir(writer, "d", &err), 0);
    assert_int_equal(file_writer_mkdir(writer, "d/e", &err), 0);
    assert_int_equal(file_writer_begin(writer, "d/e/f", true, &err), 0);
    assert_int_equal(file_writer_data(writer, 0, (const uint8_t *)"hello", 5, &err), 0);
    assert_int_equal(file_writer_end(writer, 5, digest, &err), 0);
    expect_digest("hello", 5);
    assert_int_equal(file_writer_begin(writer, "empty", false, &err), 0);
    assert_int_equal(file_writer_end(writer, 0, digest, &err), 0);
    expect_digest("", 0);
    assert_int_equal(file_writer_sync(writer, &err), 0);
    out_dir_expect_dir(&out, "d");
    out_dir_expect_dir(&out, "d/e");
    out_dir_expect_file(&out, "d/e/f", 0755, "hello", 5);
    out_dir_expect_file(&out, "empty", 0644, "", 0);
}

/* COUNT entries, each fourth a directory. */
static void make_entries(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%d", i);
        if (i % 4 == 3) {
            assert_int_equal(file_writer_mkdir(writer, name, &err), 0);
            continue;
        }
        assert_int_equal(file_writer_begin(writer, name, false, &err), 0);
        assert_int_equal(file_writer_end(writer, 0, digest, &err), 0);
    }
}

/* The number that the next fd gets: higher when something stays open. */
static int next_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(fd);
    return fd;
}

static void what_was_made_is_synced_and_no_more(void **state)
{
    static const struct {
        int entries, fsyncs, syncfss;
    } cases[] = {{1, 1, 0}, {4, 4, 0}, {16, 16, 0}, {17, 0, 1}, {20, 0, 1}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int next = next_fd();

        make_entries(cases[i].entries);
        assert_int_equal(file_writer_sync(writer, &err), 0);
        assert_int_equal(fsyncs, cases[i].fsyncs);
        assert_int_equal(syncfss, cases[i].syncfss);
        assert_int_equal(next_fd(), next);
        tear_down(state);
        set_up(state);
        make_entries(cases[i].entries);
        disk_fails = true;
        assert_int_equal(file_writer_sync(writer, &err), -1);
        assert_int_equal(err.errnum, EIO);
        tear_down(state);
        set_up(state);
        assert_int_equal(next_fd(), next);
    }
}

/* As in a bundle, where each file is removed again: an open fd would keep its room. */
static void what_does_not_last_is_not_synced(void **state)
{
    int next = next_fd();

    (void)state;
    file_writer_free(writer);
    writer = file_writer_make(out.fd, false, &err);
    make_entries(20);
    assert_int_equal(next_fd(), next);
    assert_int_equal(file_writer_sync(writer, &err), 0);
    assert_int_equal(fsyncs + syncfss, 0);
}

static void holes_are_holes(void **state)
{
    size_t size = 8 << 20;
    uint8_t *right = calloc(1, size);
    struct stat info;

    (void)state;
    assert_non_null(right);
    memcpy(right + (1 << 20), "abc", 3);
    memcpy(right + (1 << 20) + 3, "def", 3);
    memcpy(right + (5 << 20), "g", 1);
    assert_int_equal(file_writer_begin(writer, "f", false, &err), 0);
    assert_int_equal(file_writer_data(writer, 1 << 20, right + (1 << 20), 3, &err), 0);
    assert_int_equal(file_writer_data(writer, (1 << 20) + 3, right + (1 << 20) + 3, 3, &err), 0);
    assert_int_equal(file_writer_data(writer, 5 << 20, right + (5 << 20), 1, &err), 0);
    assert_int_equal(file_writer_end(writer, size, digest, &err), 0);
    expect_digest(right, size);
    out_dir_expect_file(&out, "f", 0644, right, size);
    assert_int_equal(fstatat(out.fd, "f", &info, 0), 0);
    assert_true(info.st_blocks * 512 < 1 << 20);
    free(right);
}

static void refuse_file(const char *path, int errnum)
{
    err = (struct err)ERR_INIT;
    assert_int_equal(file_writer_begin(writer, path, false, &err), -1);
    assert_int_equal(err.errnum, errnum);
}

static void nothing_is_overwritten(void **state)
{
    (void)state;
    assert_int_equal(file_writer_begin(writer, "f", false, &err), 0);
    assert_int_equal(file_writer_end(writer, 0, digest, &err), 0);
    refuse_file("f", EEXIST);
    assert_int_equal(file_writer_mkdir(writer, "f", &err), -1);
    assert_int_equal(err.errnum, EEXIST);
    assert_int_equal(file_writer_mkdir(writer, "d", &err), 0);
    refuse_file("d", EEXIST);
}

/* The tree never asks for any of these; the kernel refuses them all the same. */
static void nothing_is_written_outside(void **state)
{
    char outside[80];

    (void)state;
    snprintf(outside, sizeof(outside), "%s/x", out.path);
    refuse_file(outside, EXDEV);
    refuse_file("../x", EXDEV);
    assert_int_equal(symlinkat("/tmp", out.fd, "link"), 0);
    assert_int_equal(symlinkat("no-such-file", out.fd, "dangling"), 0);
    refuse_file("link/x", ELOOP);
    refuse_file("dangling", EEXIST);
    assert_int_equal(file_writer_mkdir(writer, "link/x", &err), -1);
    assert_int_equal(err.errnum, ENOTDIR); /* the link itself is opened, and is no directory */
    assert_int_equal(file_writer_mkdir(writer, "link/x/y", &err), -1);
    assert_int_equal(err.errnum, ELOOP);
    assert_int_equal(file_writer_mkdir(writer, "dangling", &err), -1);
    assert_int_equal(err.errnum, EEXIST);
    assert_int_equal(file_writer_mkdir(writer, "../x/y", &err), -1);
}

static void a_full_disk_has_an_errno(void **state)
{
    struct rlimit kept, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = kept.rlim_max};
    assert_int_equal(file_writer_begin(writer, "f", false, &err), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(file_writer_data(writer, 100, (const uint8_t *)"x", 1, &err), -1);
    assert_int_equal(err.errnum, EFBIG);
    assert_int_equal(file_writer_end(writer, 200, digest, &err), -1);
    assert_int_equal(err.errnum, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
}

#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    WRITER_TEST(files_and_modes),
    WRITER_TEST(what_was_made_is_synced_and_no_more),
    WRITER_TEST(what_does_not_last_is_not_synced),
    WRITER_TEST(holes_are_holes),
    WRITER_TEST(nothing_is_overwritten),
    WRITER_TEST(nothing_is_written_outside),
    WRITER_TEST(a_full_disk_has_an_errno),
};

UNIT_MAIN(tests)
