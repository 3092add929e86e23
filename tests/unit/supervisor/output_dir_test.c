/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=mkdir,--wrap=fsync */
/* output_dir_test.c: who gets an output directory, and who takes it away again. */
#include "supervisor/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ipc/ipc.h"
#include "tests/unit/unit.h"

static char root[64], out[80];
static struct err err;
static int other = -1; /* another run's fd of the directory */
static bool other_is_faster;

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);

/* Between the two steps of a run, making the directory and locking it, another may come. */
int __wrap_mkdir(const char *path, mode_t mode)
{
    int failed = __real_mkdir(path, mode);

    if (failed == 0 && other_is_faster) {
        other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(other, LOCK_EX), 0);
    }
    return failed;
}

static bool disk_fails;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    errno = EIO;
    return disk_fails ? -1 : __real_fsync(fd);
}

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    other_is_faster = disk_fails = false;
    strcpy(root, "/tmp/output_dir_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(out, sizeof(out), "%s/out", root);
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    fd_close(&other);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static void it_is_told_who_made_it(void **state)
{
    AUTO_FD int fd = -1;
    bool created = false;

    (void)state;
    fd = output_create(out, &created, &err);
    assert_true(fd >= 0 && created);
    fd_close(&fd);
    fd = output_create(out, &created, &err);
    assert_true(fd >= 0 && !created);
}

static void one_that_is_not_empty_is_refused(void **state)
{
    char file[100];
    bool created;

    (void)state;
    assert_int_equal(mkdir(out, 0755), 0);
    snprintf(file, sizeof(file), "%s/.x", out);
    assert_int_equal(close(open(file, O_WRONLY | O_CREAT, 0644)), 0);
    assert_int_equal(output_create(out, &created, &err), -1);
    assert_false(created);
    assert_int_equal(access(file, F_OK), 0);
}

/* It is empty still, so that rmdir(2) would take it. */
static void what_another_run_has_taken_stays(void **state)
{
    bool created;

    (void)state;
    other_is_faster = true;
    assert_int_equal(output_create(out, &created, &err), -1);
    assert_non_null(strstr(err.text, "another run has just taken it"));
    assert_int_equal(close(openat(other, "stdout", O_WRONLY | O_CREAT | O_EXCL, 0644)), 0);
}

static bool has(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(int fd, const char *name)
{
    assert_int_equal(close(openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644)), 0);
}

static void a_bundle_is_published_alone_or_not_at_all(void **state)
{
    bool created;
    AUTO_FD int output_fd = output_create(out, &created, &err);
    AUTO_FD int artifacts_fd = output_begin_artifacts(output_fd, "id", &err);

    (void)state;
    put_file(artifacts_fd, BUNDLE_NAME);
    put_file(artifacts_fd, "more"); /* an extractor that was taken over */
    assert_int_equal(output_publish_artifacts(output_fd, "id", artifacts_fd, true, &err), -1);
    assert_int_equal(err.errnum, ENOTEMPTY);
    assert_false(has(output_fd, BUNDLE_NAME));
    put_file(artifacts_fd, BUNDLE_NAME);
    assert_int_equal(unlinkat(artifacts_fd, "more", 0), 0);
    assert_int_equal(output_publish_artifacts(output_fd, "id", artifacts_fd, true, &err), 0);
    assert_true(has(output_fd, BUNDLE_NAME));
    assert_false(has(output_fd, ".artifacts.id.partial"));
}

static void what_cannot_be_synced_is_taken_back(void **state)
{
    bool created;
    AUTO_FD int output_fd = output_create(out, &created, &err);
    AUTO_FD int artifacts_fd = output_begin_artifacts(output_fd, "id", &err);

    (void)state;
    put_file(artifacts_fd, BUNDLE_NAME);
    disk_fails = true;
    assert_int_equal(output_publish_artifacts(output_fd, "id", artifacts_fd, true, &err), -1);
    assert_int_equal(err.errnum, EIO);
    assert_false(has(output_fd, BUNDLE_NAME));
    assert_true(has(artifacts_fd, BUNDLE_NAME));
    assert_int_equal(output_publish(output_fd, ".artifacts.id.partial", output_fd, "a", &err), -1);
    assert_true(has(output_fd, ".artifacts.id.partial") && !has(output_fd, "a"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(it_is_told_who_made_it, set_up, tear_down),
    cmocka_unit_test_setup_teardown(one_that_is_not_empty_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(what_another_run_has_taken_stays, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_bundle_is_published_alone_or_not_at_all, set_up, tear_down),
    cmocka_unit_test_setup_teardown(what_cannot_be_synced_is_taken_back, set_up, tear_down),
};

UNIT_MAIN(tests)
