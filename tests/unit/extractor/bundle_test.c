/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fsync,--wrap=syncfs */
/* bundle_test.c: bundles that tar(1) reads, and that are the same each time. */
#include <errno.h>
#include <openssl/sha.h>
#include <sys/mman.h>

#include "extractor/bundle.h"
#include "extractor/tar.h"
#include "tests/unit/extractor/out_dir.h"

static struct out_dir out;
static struct err err = ERR_INIT;
static uint8_t digest[IPC_DIGEST_BYTES];
static uint64_t bundle_bytes;

static int fsyncs;

int __wrap_fsync(int fd);
int __wrap_syncfs(int fd);

int __wrap_fsync(int fd)
{
    (void)fd;
    fsyncs++;
    return 0;
}

/* It would wait for what others have written. */
int __wrap_syncfs(int fd)
{
    fail_msg("syncfs(%d)", fd);
    return -1;
}

static int set_up(void **state)
{
    (void)state;
    out_dir_make(&out);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    out_dir_remove(&out);
    return 0;
}

static void add(
    struct bundle *bundle, const char *path, bool executable, const char *text, uint64_t size_bytes)
{
    AUTO_FD int fd = memfd_create("content", MFD_CLOEXEC);

    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(ftruncate(fd, (off_t)size_bytes), 0);
    assert_int_equal(bundle_add_file(bundle, path, executable, fd, size_bytes, &err), 0);
}

static void finish(struct bundle *bundle)
{
    fsyncs = 0;
    assert_int_equal(bundle_end(bundle, &bundle_bytes, digest, &err), 0);
    assert_int_equal(fsyncs, 1);
    bundle_free(bundle);
}

/* What COMMAND, run in the output directory, prints. */
static void expect_output(const char *command, const char *right)
{
    char line[512], text[8192] = "";
    FILE *pipe;

    snprintf(line, sizeof(line), "cd %s && %s 2>&1", out.path, command);
    pipe = popen(line, "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof(text) - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(text, right);
}

static void make_sample(void)
{
    struct bundle *bundle = bundle_make(out.fd, &err);

    assert_non_null(bundle);
    assert_int_equal(bundle_add_dir(bundle, "d", &err), 0);
    add(bundle, "d/empty", false, "", 0);
    add(bundle, "d/run", true, "#!/bin/sh", 9);
    add(bundle, "holes", false, "x", 512);
    add(bundle, "large", false, "y", 300000);
    finish(bundle);
}

static void tar_reads_it(void **state)
{
    (void)state;
    make_sample();
    expect_output("TZ=UTC LC_ALL=C tar --numeric-owner -tvzf artifacts.tar.gz",
        "drwxr-xr-x 0/0               0 1970-01-01 00:00 d/\n"
        "-rw-r--r-- 0/0               0 1970-01-01 00:00 d/empty\n"
        "-rwxr-xr-x 0/0               9 1970-01-01 00:00 d/run\n"
        "-rw-r--r-- 0/0             512 1970-01-01 00:00 holes\n"
        "-rw-r--r-- 0/0          300000 1970-01-01 00:00 large\n");
    expect_output("tar -xzOf artifacts.tar.gz d/run", "#!/bin/sh");
    expect_output("tar -xzOf artifacts.tar.gz large | tr -d '\\000' | wc -c", "1\n");
}

static void it_is_the_same_each_time(void **state)
{
    uint8_t first[IPC_DIGEST_BYTES], there[SHA256_DIGEST_LENGTH];
    static uint8_t bytes[1 << 20];
    AUTO_FD int fd = -1;
    ssize_t size;

    (void)state;
    make_sample();
    memcpy(first, digest, sizeof(first));
    fd = openat(out.fd, BUNDLE_NAME, O_RDONLY);
    size = fd_read_all(fd, bytes, sizeof(bytes));
    assert_int_equal(size, bundle_bytes);
    SHA256(bytes, (size_t)size, there);
    assert_memory_equal(there, digest, sizeof(there));
    /* No name, no time, unknown system: RFC 1952, 2.3. */
    assert_memory_equal(bytes, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    out_dir_remove(&out);
    out_dir_make(&out);
    make_sample();
    assert_memory_equal(first, digest, sizeof(first));
}

/* A path of LENGTH bytes in components of PART. */
static const char *long_path(size_t length, size_t part)
{
    static char path[IPC_EXPORTED_BYTES];

    memset(path, 'n', length);
    for (size_t i = part; i + 1 < length; i += part + 1)
        path[i] = '/';
    path[length] = '\0';
    return path;
}

static void long_names_come_back(void **state)
{
    static const size_t lengths[][2] = {{99, 99}, {100, 99}, {101, 50}, {101, 101}, {255, 99},
        {256, 155}, {257, 99}, {256, 50}, {1000, 20}, {3072, 255}};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const char *path = long_path(lengths[i][0], lengths[i][1]);
        struct bundle *bundle = bundle_make(out.fd, &err);
        char right[IPC_EXPORTED_BYTES + 1];

        assert_non_null(bundle);
        add(bundle, path, false, "x", 1);
        finish(bundle);
        snprintf(right, sizeof(right), "%s\n", path);
        expect_output("tar -tzf artifacts.tar.gz", right);
        assert_int_equal(unlinkat(out.fd, BUNDLE_NAME, 0), 0);
    }
}

static void sizes_at_and_past_the_field(void **state)
{
    uint8_t headers[TAR_HEADERS_MAX];

    (void)state;
    assert_int_equal(tar_file(headers, "a", 0644, 077777777777ULL), TAR_BLOCK_BYTES);
    assert_string_equal((char *)headers + 124, "77777777777");
    assert_int_equal(tar_file(headers, "a", 0644, 0100000000000ULL), 3 * TAR_BLOCK_BYTES);
    assert_string_equal((char *)headers + TAR_BLOCK_BYTES, "19 size=8589934592\n");
    assert_int_equal(headers[156], 'x');
    assert_int_equal(headers[2 * TAR_BLOCK_BYTES + 156], '0');
    assert_int_equal(tar_padding(0), 0);
    assert_int_equal(tar_padding(1), 511);
    assert_int_equal(tar_padding(512), 0);
}

static void faults_of_the_host(void **state)
{
    struct bundle *bundle = bundle_make(out.fd, &err);
    AUTO_FD int fd = memfd_create("short", MFD_CLOEXEC);

    (void)state;
    assert_non_null(bundle);
    assert_null(bundle_make(out.fd, &err)); /* it is there already */
    assert_int_equal(err.errnum, EEXIST);
    assert_int_equal(bundle_add_file(bundle, "a", false, fd, 1, &err), -1);
    assert_int_equal(err.errnum, EIO);
    bundle_free(bundle);
    bundle_free(NULL);
}

#define BUNDLE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    BUNDLE_TEST(tar_reads_it),
    BUNDLE_TEST(it_is_the_same_each_time),
    BUNDLE_TEST(long_names_come_back),
    BUNDLE_TEST(sizes_at_and_past_the_field),
    BUNDLE_TEST(faults_of_the_host),
};

UNIT_MAIN(tests)
