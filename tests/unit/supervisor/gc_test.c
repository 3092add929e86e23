/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=syscall */
/* gc_test.c: run directories and gc: who holds what, what was planted, who comes first. */
#include "supervisor/gc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/output_dir.h"
#include "supervisor/run_dir.h"
#include "tests/unit/unit.h"

#define ID "20240101-000000-0123abcd"

static char root[64];
static int root_fd = -1, base_fd = -1, output_fd = -1;
static struct text_list said, errors;
static struct gc_request request;

static int openat2_errnum; /* 0: it works */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

/* As many as come in registers, whatever the caller gives. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
    if (number == SYS_openat2 && openat2_errnum) {
        errno = openat2_errnum;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e);
}

static void say(const char *text)
{
    text_list_add(&said, text);
}

static char *below(const char *name)
{
    return text_format("%s/%s", root, name);
}

static int open_output(void)
{
    char *path = below("out");
    struct err err = ERR_INIT;
    bool created;
    int fd = output_create(path, &created, &err);

    free(path);
    return fd;
}

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    char *path;

    (void)state;
    strcpy(root, "/tmp/gc_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    path = below("base");
    base_fd = run_base_open(path, true, &err);
    free(path);
    output_fd = open_output();
    request = (struct gc_request){.files_max = 1000, .verbose = true, .say = say};
    return base_fd < 0 || output_fd < 0;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf %s", root);
    int status = system(command);

    (void)state;
    free(command);
    fd_close(&output_fd);
    fd_close(&base_fd);
    fd_close(&root_fd);
    text_list_free(&said);
    text_list_free(&errors);
    return status;
}

static bool has(const char *path)
{
    return faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(int fd, const char *path)
{
    AUTO_FD int file = openat(fd, path, O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(file, "x", 1), 1);
}

static uint64_t gc(void)
{
    text_list_free(&said);
    text_list_free(&errors);
    return gc_base(&request, base_fd, "base", &errors);
}

static bool said_has(const char *part)
{
    for (size_t i = 0; i < said.count; i++) {
        if (strstr(said.items[i], part))
            return true;
    }
    return false;
}

static struct run_dir begin(const char *id)
{
    struct err err = ERR_INIT;
    struct run_dir run;

    if (run_dir_create_in(&run, fcntl(base_fd, F_DUPFD_CLOEXEC, 0), id, &err) < 0)
        fail_msg("%s", err.text);
    return run;
}

/* A run that was killed with both kinds of files half-made; what the user keeps is there too. */
static void leave_killed_run(void)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;

    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    assert_int_equal(mkdirat(output_fd, ".artifacts." ID ".partial", 0700), 0);
    put_file(output_fd, ".artifacts." ID ".partial/a");
    put_file(output_fd, ".result.json." ID ".partial");
    put_file(output_fd, "stdout");
    run_dir_close(&run);
}

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

static void the_same_name_twice_is_refused(void **state)
{
    struct run_dir run = begin(ID), other;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(run_dir_create_in(&other, fcntl(base_fd, F_DUPFD_CLOEXEC, 0), ID, &err), -1);
    run_dir_remove(&run);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_run_removes_its_own),
        TEST(what_a_killed_run_left_is_removed),
        TEST(a_run_that_goes_on_is_left_alone),
        TEST(a_child_can_give_up_its_own_share_only),
        TEST(a_run_outlives_the_place_of_its_directory),
        TEST(a_directory_without_lock_is_removed),
        TEST(a_cut_state_is_no_state),
        TEST(planted_things_are_left_alone),
        TEST(a_planted_record_leads_nowhere),
        TEST(what_cannot_be_reached_now_is_kept),
        TEST(partial_entries_that_are_links_are_removed_themselves),
        TEST(a_huge_tree_takes_several_goes),
        TEST(a_base_that_is_not_private_is_refused),
        TEST(a_runtime_directory_of_somebody_else_is_not_used),
        TEST(the_same_name_twice_is_refused),
        TEST(a_lock_counts_only_on_what_the_name_stands_for),
        TEST(runs_and_collectors_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
