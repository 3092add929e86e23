/* SPDX-License-Identifier: Apache-2.0 */
/* own_tree_test.c: what a jail made changes hands, and nothing is taken that it must not make. */
#include "supervisor/own_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

static char root[64];
static int root_fd = -1;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    strcpy(root, "/tmp/own_tree_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(root_fd, "d", 0755), 0);
    assert_int_equal(close(openat(root_fd, "d/f", O_WRONLY | O_CREAT, 0644)), 0);
    assert_int_equal(close(openat(root_fd, "g", O_WRONLY | O_CREAT, 0644)), 0);
    return root_fd < 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    fd_close(&root_fd);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static int own(void)
{
    return own_tree(root_fd, getuid(), getuid(), getgid(), &err);
}

/* Root only: somebody else's become ours. */
static void a_tree_changes_hands(void **state)
{
    static const char *const names[] = {"d", "d/f", "g", "."};
    struct stat status;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(own_tree(root_fd, 0, 1234, 1235, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(fstatat(root_fd, names[i], &status, 0), 0);
        assert_true(status.st_uid == 1234 && status.st_gid == 1235);
    }
    assert_int_equal(own_tree(root_fd, 1234, 0, 0, &err), 0);
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    assert_int_equal(own(), 0);
    assert_int_equal(own_tree(root_fd, getuid() + 1, getuid(), getgid(), &err), -1);
}

static void links_and_devices_are_refused(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", root_fd, "d/link"), 0);
    assert_int_equal(own(), -1);
    assert_int_equal(unlinkat(root_fd, "d/link", 0), 0);
    assert_int_equal(own(), 0);
    assert_int_equal(linkat(root_fd, "g", root_fd, "d/h", 0), 0);
    assert_int_equal(own(), -1);
    assert_int_equal(unlinkat(root_fd, "d/h", 0), 0);
    assert_int_equal(mkfifoat(root_fd, "pipe", 0600), 0);
    assert_int_equal(own(), -1);
}

/* A file that others could run as its owner; directories may have the bit of the one above. */
static void set_id_bits_are_refused(void **state)
{
    static const mode_t bits[] = {S_ISUID, S_ISGID};

    (void)state;
    assert_int_equal(fchmodat(root_fd, "d", 02755, 0), 0);
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        assert_int_equal(fchmodat(root_fd, "d/f", 0755, 0), 0);
        assert_int_equal(own_tree_check(root_fd, &err), 0);
        assert_int_equal(fchmodat(root_fd, "d/f", 0755 | bits[i], 0), 0);
        assert_int_equal(own_tree_check(root_fd, &err), -1);
        assert_int_equal(own(), -1);
    }
}

/* Whose it is does not matter where nothing changes hands: some file systems have one owner. */
static void a_look_refuses_all_but_files_and_directories(void **state)
{
    (void)state;
    assert_int_equal(own_tree_check(root_fd, &err), 0);
    assert_int_equal(symlinkat("/etc/passwd", root_fd, "d/link"), 0);
    assert_int_equal(own_tree_check(root_fd, &err), -1);
    assert_int_equal(unlinkat(root_fd, "d/link", 0), 0);
    assert_int_equal(mkfifoat(root_fd, "pipe", 0600), 0);
    assert_int_equal(own_tree_check(root_fd, &err), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tree_changes_hands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_others_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_and_devices_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(set_id_bits_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_look_refuses_all_but_files_and_directories, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
