/* SPDX-License-Identifier: Apache-2.0 */
/* remove_tree_test.c: everything beneath goes, nothing outside does, and it ends. */
#include "supervisor/remove_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

static char root[64];
static int root_fd = -1;
static uint64_t budget;

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/remove_tree_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_RDONLY | O_DIRECTORY);
    budget = 1000;
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

static void put_file(const char *path)
{
    AUTO_FD int fd = openat(root_fd, path, O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(fd, "x", 1), 1);
}

static bool has(const char *path)
{
    return faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void links_and_pipes_go_and_what_they_name_stays(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_FD int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct err err = ERR_INIT;

    (void)state;
    put_file("outside");
    mkdirat(root_fd, "other", 0700);
    put_file("other/file");
    mkdirat(root_fd, "tree", 0700);
    assert_int_equal(symlinkat("../outside", root_fd, "tree/to-file"), 0);
    assert_int_equal(symlinkat("../other", root_fd, "tree/to-directory"), 0);
    assert_int_equal(symlinkat("/", root_fd, "tree/to-root"), 0);
    assert_int_equal(linkat(root_fd, "outside", root_fd, "tree/hard", 0), 0);
    assert_int_equal(mkfifoat(root_fd, "tree/fifo", 0600), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/tree/socket", root);
    assert_int_equal(bind(unix_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), 0);
    assert_false(has("tree"));
    assert_true(has("outside") && has("other/file"));
}

static void a_link_in_place_of_the_tree_is_removed_itself(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    mkdirat(root_fd, "other", 0700);
    put_file("other/file");
    assert_int_equal(symlinkat("other", root_fd, "tree"), 0);
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), 0);
    assert_true(!has("tree") && has("other/file"));
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), 0); /* nothing there */
}

static void the_number_is_bounded(void **state)
{
    struct err err = ERR_INIT;
    char name[32];

    (void)state;
    mkdirat(root_fd, "tree", 0700);
    for (int i = 0; i < 11; i++) {
        snprintf(name, sizeof(name), "tree/%d", i);
        put_file(name);
    }
    budget = 10;
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), -1);
    assert_non_null(strstr(err.text, "again"));
    assert_true(has("tree"));
    err = (struct err)ERR_INIT;
    budget = 1; /* what was left after the first ten */
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), 0);
    assert_false(has("tree"));
}

/* DEPTH directories, one in the other, "tree" being the first. */
static void put_depth(int depth)
{
    int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);

    for (int i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(fd, i ? "d" : "tree", 0700), 0);
        next = openat(fd, i ? "d" : "tree", O_RDONLY | O_DIRECTORY);
        fd_close(&fd);
        fd = next;
    }
    fd_close(&fd);
}

static void the_depth_is_bounded(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    put_depth(REMOVE_DEPTH_MAX);
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), 0);
    put_depth(REMOVE_DEPTH_MAX + 1);
    assert_int_equal(remove_tree(root_fd, "tree", &budget, &err), -1);
}

static void what_is_kept_stays_at_the_top_only(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    put_file("lock");
    mkdirat(root_fd, "d", 0700);
    put_file("d/lock");
    assert_int_equal(remove_content(root_fd, "lock", &budget, &err), 0);
    assert_true(has("lock") && !has("d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            links_and_pipes_go_and_what_they_name_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_link_in_place_of_the_tree_is_removed_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_number_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_depth_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_kept_stays_at_the_top_only, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
