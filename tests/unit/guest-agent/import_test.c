/* SPDX-License-Identifier: Apache-2.0 */
/* import_test.c: an archive becomes a tree, and nothing outside it. */
#include <errno.h>

#include "base/cursor.h"
#include "guest-agent/import.h"
#include "guest-agent/unpack.h"
#include "tests/unit/guest-agent/tree.h"
#include "wire/archive.h"

static struct tree tree;
static struct tree disk;
static uint8_t bytes[4 << 20];
static size_t used;
static uint64_t records;
static struct err err;
static struct job job;

/* ---- instead of the process that unpacks archives ----------------------------------------------
 */

static uint8_t fed[1 << 20];
static size_t fed_bytes;
static int fed_directory;
static const char *unpack_fault;

int unpack_start(struct unpack *unpack, const struct job *of, int fd, struct err *failed)
{
    (void)failed;
    assert_ptr_equal(of, &job);
    *unpack = (struct unpack){.pid = 1, .feed = -1, .status = -1};
    fed_bytes = 0;
    fed_directory = dup(fd);
    return 0;
}

int unpack_feed(struct unpack *unpack, const void *data, size_t size, struct err *failed)
{
    (void)unpack;
    (void)failed;
    assert_true(fed_bytes + size <= sizeof(fed));
    memcpy(fed + fed_bytes, data, size);
    fed_bytes += size;
    return 0;
}

int unpack_finish(struct unpack *unpack, struct err *failed)
{
    (void)unpack;
    fd_close(&fed_directory);
    return unpack_fault ? err_set(failed, "%s", unpack_fault) : 0;
}

static int unpack_stops;

void unpack_stop(struct unpack *unpack)
{
    assert_int_equal(unpack->pid, 1);
    fd_close(&fed_directory);
    unpack_stops++;
}

static int set_up(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_make(&disk);
    archive_put_header(bytes);
    used = ARCHIVE_HEADER_BYTES;
    records = 0;
    err = (struct err)ERR_INIT;
    job = (struct job){.uid = getuid(), .gid = getgid()};
    unpack_fault = NULL;
    unpack_stops = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(&tree);
    tree_remove(&disk);
    return 0;
}

static void put(
    enum archive_kind kind, const char *name, uint32_t mode, uint64_t size, uint64_t offset)
{
    struct archive_record record = {.kind = kind,
        .name_bytes = (uint32_t)strlen(name),
        .mode = mode,
        .size = size,
        .offset = offset};

    archive_put_record(bytes + used, &record);
    used += ARCHIVE_RECORD_BYTES;
    memcpy(bytes + used, name, strlen(name));
    used += strlen(name);
    records++;
}

static void put_extent(const void *data, size_t size, uint64_t offset)
{
    put(ARCHIVE_EXTENT, "", 0, size, offset);
    memcpy(bytes + used, data, size);
    used += size;
}

static int unpack(void)
{
    int fd = openat(disk.fd, "disk", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int result;

    assert_int_equal(fd_pwrite_all(fd, bytes, used, 0), 0);
    result = import_unpack(fd, tree.fd, &job, &err);
    fd_close(&fd);
    return result;
}

static int finish(void)
{
    put(ARCHIVE_END, "", 0, records, 0);
    return unpack();
}

static void expect_file(const char *path, mode_t mode, const void *content, size_t size)
{
    static char back[4 << 20];
    struct stat status;
    int fd = openat(tree.fd, path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
    assert_int_equal(status.st_size, size);
    assert_int_equal(fd_read_all(fd, back, sizeof(back)), size);
    assert_memory_equal(back, content, size);
    fd_close(&fd);
}

static void files_and_directories(void **state)
{
    static char sparse[300000];
    struct stat status;

    (void)state;
    memcpy(sparse + 200000, "data", 4);
    put(ARCHIVE_DIR, "d", 0750, 0, 0);
    put(ARCHIVE_DIR, "d/e", 0555, 0, 0);
    put(ARCHIVE_FILE, "d/e/f", 0640, 10, 0);
    put_extent("hello", 5, 0);
    put_extent("world", 5, 5);
    put(ARCHIVE_FILE, "empty", 06755, 0, 0); /* set-id bits are dropped */
    put(ARCHIVE_FILE, "sparse", 0600, sizeof(sparse), 0);
    put_extent("data", 4, 200000);
    put(ARCHIVE_DIR, "d", 0700, 0, 0); /* again: only its mode */
    assert_int_equal(finish(), 0);
    expect_file("d/e/f", 0640, "helloworld", 10);
    expect_file("empty", 0755, "", 0);
    expect_file("sparse", 0600, sparse, sizeof(sparse));
    assert_int_equal(fstatat(tree.fd, "d", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(fstatat(tree.fd, "sparse", &status, 0), 0);
    assert_true(status.st_blocks * 512 <= 8192);
}

static void larger_than_the_buffer(void **state)
{
    static uint8_t content[2500000];

    (void)state;
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)(i % 251);
    put(ARCHIVE_FILE, "large", 0644, sizeof(content), 0);
    put_extent(content, sizeof(content), 0);
    assert_int_equal(finish(), 0);
    expect_file("large", 0644, content, sizeof(content));
}

static void refuse(const char *words)
{
    assert_int_equal(finish(), -1);
    assert_non_null(strstr(err.text, words));
}

static void names_that_lead_out(void **state)
{
    static const char *const names[] = {"../f", "/f", "..", "d/../../f", "link/f", "link", "."};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tear_down(state);
        set_up(state);
        assert_int_equal(symlinkat(disk.path, tree.fd, "link"), 0);
        tree_dir(&tree, "d", 0755);
        put(ARCHIVE_FILE, names[i], 0644, 0, 0);
        refuse("cannot put the input");
        assert_non_null(strstr(err.text, names[i]));
        assert_int_equal(faccessat(disk.fd, "f", F_OK, 0), -1);
    }
}

static void the_same_file_twice(void **state)
{
    (void)state;
    put(ARCHIVE_FILE, "f", 0644, 0, 0);
    put(ARCHIVE_FILE, "f", 0644, 0, 0);
    refuse("cannot put the input f into the guest: File exists");
    assert_int_equal(err.errnum, EEXIST);
}

static void extents_where_none_may_be(void **state)
{
    put_extent("x", 1, 0); /* before any file */
    refuse("extent where none may be");
    tear_down(state);
    set_up(state);
    put(ARCHIVE_FILE, "f", 0644, 4, 0);
    put_extent("data", 4, 0);
    put_extent("x", 1, 4); /* beyond the size */
    refuse("extent where none may be");
    tear_down(state);
    set_up(state);
    put(ARCHIVE_FILE, "f", 0644, 4, 0);
    put_extent("ab", 2, 1);
    put_extent("x", 1, 2); /* into the one before */
    refuse("extent where none may be");
    tear_down(state);
    set_up(state);
    put(ARCHIVE_FILE, "f", 0644, 4, 0);
    put(ARCHIVE_DIR, "d", 0755, 0, 0);
    put_extent("x", 1, 0); /* not right behind its file */
    refuse("extent where none may be");
}

static void archives_that_are_broken(void **state)
{
    put(ARCHIVE_FILE, "f", 0644, 1, 0);
    records++; /* counts wrongly */
    refuse("counts its records wrongly");
    tear_down(state);
    set_up(state);
    put(ARCHIVE_FILE, "f", 0644, 1, 0);
    assert_int_equal(unpack(), -1); /* no END */
    assert_non_null(strstr(err.text, "ends inside its archive"));
    tear_down(state);
    set_up(state);
    put(ARCHIVE_SKIPPED, "f", ARCHIVE_SKIP_MISSING, 0, 0);
    refuse("only an export has");
    tear_down(state);
    set_up(state);
    bytes[0] = 'X';
    refuse("does not begin with an archive");
    tear_down(state);
    set_up(state);
    put(ARCHIVE_FILE, "fg", 0644, 0, 0);
    bytes[used - 1] = '\0';
    refuse("NUL");
}

/* Bytes and zeroes of holes in order, into a directory that the task has. */
static void archives_are_handed_over(void **state)
{
    static const uint8_t expected[] = {0, 0, 'a', 'b', 0, 'c', 0, 0};
    struct stat status;

    (void)state;
    job.unpacks[0] = "d/tree";
    job.unpack_count = 1;
    put(ARCHIVE_DIR, "d", 0755, 0, 0);
    put(ARCHIVE_FILE, "d/tree", 0644, 8, 0);
    put_extent("ab", 2, 2);
    put_extent("c", 1, 5);
    put(ARCHIVE_FILE, "d/tree2", 0644, 1, 0);
    put_extent("x", 1, 0);
    assert_int_equal(finish(), 0);
    assert_int_equal(fed_bytes, sizeof(expected));
    assert_memory_equal(fed, expected, sizeof(expected));
    assert_int_equal(fstatat(tree.fd, "d/tree", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISDIR(status.st_mode));
    expect_file("d/tree2", 0644, "x", 1);
}

/* The export that follows must find everything at rest. */
static void nothing_goes_on_after_a_failure(void **state)
{
    (void)state;
    job.unpacks[0] = "tree";
    job.unpack_count = 1;
    put(ARCHIVE_FILE, "tree", 0644, 5, 0);
    put_extent("01234", 5, 0);
    assert_int_equal(unpack(), -1); /* no END */
    assert_int_equal(unpack_stops, 1);
    used = ARCHIVE_HEADER_BYTES;
    records = 0;
    put(ARCHIVE_FILE, "other/tree", 0644, 0, 0); /* no such directory: nothing was started */
    assert_int_equal(finish(), -1);
    assert_int_equal(unpack_stops, 1);
}

static void a_fault_of_an_archive_names_the_input(void **state)
{
    (void)state;
    job.unpacks[0] = "tree";
    job.unpack_count = 1;
    unpack_fault = "f: too much";
    put(ARCHIVE_FILE, "tree", 0644, 1, 0);
    put_extent("x", 1, 0);
    refuse("cannot unpack the input tree: f: too much");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_and_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(larger_than_the_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_lead_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_file_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extents_where_none_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(archives_that_are_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(archives_are_handed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fault_of_an_archive_names_the_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_goes_on_after_a_failure, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
