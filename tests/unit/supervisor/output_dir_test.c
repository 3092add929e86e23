/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=mkdir */
/* output_dir_test.c: who gets an output directory, and who takes it away again. */
#include "supervisor/output_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
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

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    other_is_faster = false;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(it_is_told_who_made_it, set_up, tear_down),
    cmocka_unit_test_setup_teardown(one_that_is_not_empty_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(what_another_run_has_taken_stays, set_up, tear_down),
};

UNIT_MAIN(tests)
