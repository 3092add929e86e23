/* SPDX-License-Identifier: Apache-2.0 */
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

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    out_dir_make(&out);
    writer = file_writer_make(out.fd, &err);
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
    WRITER_TEST(holes_are_holes),
    WRITER_TEST(nothing_is_overwritten),
    WRITER_TEST(nothing_is_written_outside),
    WRITER_TEST(a_full_disk_has_an_errno),
};

UNIT_MAIN(tests)
