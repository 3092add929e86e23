/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=syscall */
/* gc_planted_test.c: what gc does not touch: what was planted, or cannot be reached, or is not
 * private. */
#include "supervisor/gc.h"

#include "tests/unit/supervisor/gc_rig.h"

static void planted_things_are_left_alone(void **state)
{
    struct run_dir run;

    (void)state;
    mkdirat(root_fd, "precious", 0700);
    put_file(root_fd, "precious/file");
    assert_int_equal(symlinkat("../precious", base_fd, "run-link"), 0);
    assert_int_equal(mkfifoat(base_fd, "run-fifo", 0600), 0);
    put_file(base_fd, "run-file");
    mkdirat(base_fd, "other", 0700);
    mkdirat(base_fd, "run-open-to-others", 0755);
    fchmodat(base_fd, "run-open-to-others", 0755, 0);
    mkdirat(base_fd, "run-fifo-lock", 0700);
    assert_int_equal(mkfifoat(base_fd, "run-fifo-lock/lock", 0600), 0);
    mkdirat(base_fd, "run-link-lock", 0700);
    assert_int_equal(symlinkat("../../precious/file", base_fd, "run-link-lock/lock"), 0);
    run = begin("hard-lock");
    run_dir_close(&run);
    unlinkat(base_fd, "run-hard-lock/lock", 0);
    assert_int_equal(linkat(root_fd, "precious/file", base_fd, "run-hard-lock/lock", 0), 0);
    assert_int_equal(gc(), 0);
    assert_int_equal(errors.count, 0);
    assert_true(has("precious/file") && has("base/run-link") && has("base/run-fifo"));
    assert_true(has("base/run-file") && has("base/other") && has("base/run-open-to-others"));
    assert_true(said_has("run-fifo: left alone"));
}

static void a_planted_record_leads_nowhere(void **state)
{
    struct run_dir run;
    struct err err = ERR_INIT;

    (void)state;
    leave_killed_run();
    /* The directory it names has been replaced by a link to one that has the same names. */
    assert_int_equal(renameat(root_fd, "out", root_fd, "moved"), 0);
    assert_int_equal(symlinkat("moved", root_fd, "out"), 0);
    assert_int_equal(gc(), 1);
    assert_true(has("moved/.artifacts." ID ".partial/a"));
    assert_true(said_has("is gone, or is another one now"));
    /* By another directory. */
    unlinkat(root_fd, "out", 0);
    run = begin(ID);
    fd_close(&output_fd);
    output_fd = open_output();
    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    run_dir_close(&run);
    assert_int_equal(renameat(root_fd, "out", root_fd, "out-1"), 0);
    mkdirat(root_fd, "out", 0700);
    mkdirat(root_fd, "out/.artifacts." ID ".partial", 0700);
    assert_int_equal(gc(), 1);
    assert_true(has("out/.artifacts." ID ".partial"));
}

/* The record of a killed run, on device number DEVICE, at PATH below the test's directory. */
static void leave_record(dev_t device, ino_t inode, const char *path)
{
    struct run_dir run = begin(ID);
    char *text = text_format("vmrun run directory 1\noutput %llu %llu\n%s/%s",
        (unsigned long long)device, (unsigned long long)inode, root, path);
    AUTO_FD int fd = openat(run.fd, "state", O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    free(text);
    run_dir_close(&run);
}

static void expect_kept(const char *why)
{
    request.verbose = false; /* it is said all the same */
    assert_int_equal(gc(), 0);
    assert_int_equal(errors.count, 0);
    assert_int_equal(said.count, 1);
    if (!said_has(why))
        fail_msg("%s", said.items[0]);
    assert_true(has("base/run-" ID "/state"));
}

static void what_cannot_be_reached_now_is_kept(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(fstat(output_fd, &status), 0);
    leave_record(status.st_dev + 1, status.st_ino, "out");
    expect_kept("another file system");
    unlinkat(base_fd, "run-" ID "/state", 0);
    assert_int_equal(gc(), 1);
    leave_record(status.st_dev + 1, status.st_ino, "mnt/x/out");
    expect_kept("not mounted");
    unlinkat(base_fd, "run-" ID "/state", 0);
    assert_int_equal(gc(), 1);
    leave_killed_run();
    openat2_errnum = EACCES;
    expect_kept(strerror(EACCES));
    openat2_errnum = 0;
    if (geteuid() == 0) { /* nobody else can give a directory away */
        assert_int_equal(fchown(output_fd, 61234, 61234), 0);
        expect_kept("another user");
        assert_int_equal(fchown(output_fd, 0, 0), 0);
    }
    assert_true(has("out/.artifacts." ID ".partial/a"));
    assert_int_equal(gc(), 1);
    assert_false(has("out/.artifacts." ID ".partial") || has("base/run-" ID));
    leave_record(status.st_dev, status.st_ino, "gone/out"); /* the same file system: gone */
    assert_int_equal(gc(), 1);
    assert_false(has("base/run-" ID));
}

static void partial_entries_that_are_links_are_removed_themselves(void **state)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;

    (void)state;
    mkdirat(root_fd, "precious", 0700);
    put_file(root_fd, "precious/file");
    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    assert_int_equal(symlinkat("../precious", output_fd, ".artifacts." ID ".partial"), 0);
    assert_int_equal(symlinkat("../precious/file", output_fd, ".result.json." ID ".partial"), 0);
    run_dir_close(&run);
    assert_int_equal(gc(), 1);
    assert_true(has("precious/file") && !has("out/.artifacts." ID ".partial"));
}

static void a_base_that_is_not_private_is_refused(void **state)
{
    char *path = below("base"), *link = below("link");
    struct err err = ERR_INIT;

    (void)state;
    fchmod(base_fd, 0750);
    assert_int_equal(run_base_open(path, true, &err), -1);
    assert_non_null(strstr(err.text, "chmod 700"));
    fchmod(base_fd, 0700);
    assert_int_equal(symlinkat("base", root_fd, "link"), 0);
    assert_int_equal(run_base_open(link, true, &err), -1);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(run_base_open(path, true, &err), -1);
    }
    free(path);
    path = below("none");
    assert_int_equal(run_base_open(path, false, &err), -1);
    assert_int_equal(err.errnum, ENOENT);
    free(path);
    free(link);
}

static void a_runtime_directory_of_somebody_else_is_not_used(void **state)
{
    char path[RUN_BASE_BYTES];

    (void)state;
    setenv("XDG_RUNTIME_DIR", root, 1);
    assert_true(run_base_path(0, path));
    assert_memory_equal(path, root, strlen(root));
    chmod(root, 0755);
    assert_false(run_base_path(0, path));
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    assert_false(run_base_path(0, path));
    unsetenv("XDG_RUNTIME_DIR");
    assert_false(run_base_path(0, path));
}

/* A lock on what has been removed, and made again by somebody else, is none. */
static void a_lock_counts_only_on_what_the_name_stands_for(void **state)
{
    struct run_dir old = begin(ID), new_run, claimed;
    struct err err = ERR_INIT;

    (void)state;
    unlinkat(old.fd, "lock", 0);
    assert_int_equal(unlinkat(base_fd, "run-" ID, AT_REMOVEDIR), 0);
    new_run = begin(ID);
    assert_int_equal(run_dir_claim(&claimed, base_fd, "run-" ID, &err), RUN_IN_USE);
    run_dir_close(&new_run);
    assert_int_equal(run_dir_claim(&claimed, base_fd, "run-" ID, &err), RUN_CLAIMED);
    assert_int_equal(run_dir_discard(&claimed, &(uint64_t){10}, &err), 0);
    run_dir_close(&old);
}

static const struct CMUnitTest tests[] = {
    GC_TEST(planted_things_are_left_alone),
    GC_TEST(a_planted_record_leads_nowhere),
    GC_TEST(what_cannot_be_reached_now_is_kept),
    GC_TEST(partial_entries_that_are_links_are_removed_themselves),
    GC_TEST(a_base_that_is_not_private_is_refused),
    GC_TEST(a_runtime_directory_of_somebody_else_is_not_used),
    GC_TEST(a_lock_counts_only_on_what_the_name_stands_for),
};

UNIT_MAIN(tests)
