/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=syscall */
/* gc_test.c: run directories and gc: who holds what, and who comes first. */
#include "supervisor/gc.h"

#include "tests/unit/supervisor/gc_rig.h"

static void a_run_removes_its_own(void **state)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;

    (void)state;
    assert_true(has("base/run-" ID "/lock"));
    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    run_dir_remove(&run);
    assert_false(has("base/run-" ID));
    run_dir_remove(&run); /* twice is once */
    assert_int_equal(gc(), 0);
    assert_int_equal(errors.count, 0);
}

static void what_a_killed_run_left_is_removed(void **state)
{
    (void)state;
    leave_killed_run();
    mkdirat(output_fd, ".artifacts.20240101-000000-ffffffff.partial", 0700);
    request.dry_run = true;
    assert_int_equal(gc(), 1);
    assert_true(has("base/run-" ID) && has("out/.artifacts." ID ".partial/a"));
    request.dry_run = false;
    assert_int_equal(gc(), 1);
    assert_int_equal(errors.count, 0);
    assert_false(has("base/run-" ID));
    assert_false(has("out/.artifacts." ID ".partial") || has("out/.result.json." ID ".partial"));
    /* the user's log, and what another run is making */
    assert_true(has("out/stdout") && has("out/.artifacts.20240101-000000-ffffffff.partial"));
    assert_int_equal(gc(), 0);
    assert_int_equal(errors.count, 0);
}

static void a_run_that_goes_on_is_left_alone(void **state)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;
    AUTO_FD int share = run_dir_share(&run, &err);

    (void)state;
    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    mkdirat(output_fd, ".artifacts." ID ".partial", 0700);
    assert_int_equal(gc(), 0);
    assert_true(said_has("going on"));
    /* The supervisor is dead, a child not yet. */
    run_dir_close(&run);
    assert_int_equal(gc(), 0);
    assert_true(has("base/run-" ID "/state") && has("out/.artifacts." ID ".partial"));
    fd_close(&share);
    assert_int_equal(gc(), 1);
    assert_false(has("base/run-" ID));
}

static void a_child_can_give_up_its_own_share_only(void **state)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;
    AUTO_FD int share = run_dir_share(&run, &err);

    (void)state;
    assert_int_equal(flock(share, LOCK_UN), 0);
    assert_int_equal(gc(), 0);
    assert_int_equal(flock(share, LOCK_EX | LOCK_NB), -1);
    run_dir_remove(&run);
}

static void a_run_outlives_the_place_of_its_directory(void **state)
{
    struct run_dir run = begin(ID);
    char *command = text_format("rm -rf %s/base", root);
    struct err err = ERR_INIT;
    AUTO_FD int share = -1;

    (void)state;
    assert_int_equal(system(command), 0);
    free(command);
    share = run_dir_share(&run, &err);
    assert_true(share >= 0);
    run_dir_remove(&run);
}

/* Killed between mkdir and the creation of the lock. */
static void a_directory_without_lock_is_removed(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(base_fd, "run-" ID, 0700), 0);
    assert_int_equal(gc(), 1);
    assert_false(has("base/run-" ID));
}

static void a_cut_state_is_no_state(void **state)
{
    static const char *const texts[] = {"", "vmrun", "vmrun run directory 1\noutput 1 2",
        "vmrun run directory 1\noutput 1 2 x\n/tmp", "vmrun run directory 2\noutput 1 2\n/tmp",
        "vmrun run directory 1\noutput 01 2\n/tmp"};
    struct run_record *record = calloc(1, sizeof(*record));

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        AUTO_FD int fd = openat(root_fd, "state", O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_int_equal(fd_write_all(fd, texts[i], strlen(texts[i])), 0);
        assert_false(run_dir_read_record(root_fd, record));
    }
    unlinkat(root_fd, "state", 0);
    assert_int_equal(mkfifoat(root_fd, "state", 0600), 0);
    assert_false(run_dir_read_record(root_fd, record));
    unlinkat(root_fd, "state", 0);
    put_file(root_fd, "elsewhere");
    assert_int_equal(symlinkat("elsewhere", root_fd, "state"), 0);
    assert_false(run_dir_read_record(root_fd, record));
    free(record);
}

static void a_huge_tree_takes_several_goes(void **state)
{
    int goes = 0;
    char name[64];

    (void)state;
    leave_killed_run();
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof(name), ".artifacts." ID ".partial/%d", i);
        put_file(output_fd, name);
    }
    request.files_max = 10;
    while (gc() == 0 && goes < 10) {
        assert_int_equal(errors.count, 1);
        assert_non_null(strstr(errors.items[0], "again"));
        goes++;
    }
    assert_int_equal(goes, 2);
    assert_false(has("base/run-" ID));
}

static void the_same_name_twice_is_refused(void **state)
{
    struct run_dir run = begin(ID), other;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(run_dir_create_in(&other, fcntl(base_fd, F_DUPFD_CLOEXEC, 0), ID, &err), -1);
    run_dir_remove(&run);
}

/* Runs begin and end while two processes collect: no run may lose its directory. */
static void runs_and_collectors_race(void **state)
{
    struct err err = ERR_INIT;
    pid_t collectors[2];
    char id[32];

    (void)state;
    request.verbose = false;
    for (int i = 0; i < 2; i++) {
        collectors[i] = fork();
        while (collectors[i] == 0)
            gc();
    }
    for (int i = 0; i < 300; i++) {
        struct run_dir run;

        snprintf(id, sizeof(id), "race-%d", i);
        run = begin(id);
        assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
        usleep(200);
        assert_int_equal(faccessat(run.fd, "state", F_OK, 0), 0);
        assert_int_equal(faccessat(base_fd, run.name, F_OK, 0), 0);
        if (i % 2)
            run_dir_remove(&run);
        else
            run_dir_close(&run);
    }
    for (int i = 0; i < 2; i++) {
        int status;

        assert_int_equal(waitpid(collectors[i], &status, WNOHANG), 0); /* still well */
        kill(collectors[i], SIGKILL);
        waitpid(collectors[i], &status, 0);
    }
    gc();
    assert_int_equal(errors.count, 0);
    assert_int_equal(unlinkat(root_fd, "base", AT_REMOVEDIR), 0);
}

static const struct CMUnitTest tests[] = {
    GC_TEST(a_run_removes_its_own),
    GC_TEST(what_a_killed_run_left_is_removed),
    GC_TEST(a_run_that_goes_on_is_left_alone),
    GC_TEST(a_child_can_give_up_its_own_share_only),
    GC_TEST(a_run_outlives_the_place_of_its_directory),
    GC_TEST(a_directory_without_lock_is_removed),
    GC_TEST(a_cut_state_is_no_state),
    GC_TEST(a_huge_tree_takes_several_goes),
    GC_TEST(the_same_name_twice_is_refused),
    GC_TEST(runs_and_collectors_race),
};

UNIT_MAIN(tests)
