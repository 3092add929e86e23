/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_digest_test.c: a run's digests: recalled or computed at its end, and none of a file
 * that was written meanwhile.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/file_digest.h"
#include "supervisor/supervise_internal.h"
#include "tests/unit/unit.h"

enum { KERNEL_BYTES = 70001 };

static char kernel_path[] = "/tmp/supervise_digest_test.k.XXXXXX";
static char image_path[] = "/tmp/supervise_digest_test.i.XXXXXX";
static uint8_t kernel[KERNEL_BYTES];
static struct supervision run;
static struct plan plan;
static struct config config;
static struct outcome outcome;

/* image_verify.c stays out, and with it the user's cache, which this is instead. */
static bool kernel_is_remembered;
static unsigned computed;

bool file_digest_recall(int fd, uint8_t digest[DIGEST_BYTES])
{
    assert_int_equal(fd, plan.kernel_fd);
    memset(digest, 0xcd, DIGEST_BYTES);
    return kernel_is_remembered;
}

bool file_digest_lasts(int fd)
{
    assert_int_equal(fd, plan.image_fd);
    return false;
}

int file_digest_compute(int fd, uint8_t digest[DIGEST_BYTES], struct err *err)
{
    assert_int_equal(fd, plan.kernel_fd);
    computed++;
    return digest_file(digest, fd, err);
}

static struct file_stamp stamp(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return file_stamp_of(&status);
}

static int set_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    memset(&run, 0, sizeof(run));
    memset(&outcome, 0, sizeof(outcome));
    memset(kernel, 'k', sizeof(kernel));
    strcpy(kernel_path + strlen(kernel_path) - 6, "XXXXXX");
    strcpy(image_path + strlen(image_path) - 6, "XXXXXX");
    kernel_is_remembered = false;
    computed = 0;
    config = (struct config){0};
    plan = (struct plan){.config = &config,
        .kernel_fd = mkostemp(kernel_path, O_CLOEXEC),
        .image_fd = mkostemp(image_path, O_CLOEXEC)};
    run.plan = &plan;
    run.outcome = &outcome;
    assert_int_equal(fd_pwrite_all(plan.kernel_fd, kernel, sizeof(kernel), 0), 0);
    plan.kernel_stamp = stamp(plan.kernel_fd);
    plan.image_stamp = stamp(plan.image_fd);
    return loop_init(&run.loop, &err);
}

static int tear_down(void **state)
{
    (void)state;
    loop_fini(&run.loop);
    unlink(kernel_path);
    unlink(image_path);
    fd_close(&plan.kernel_fd);
    fd_close(&plan.image_fd);
    return 0;
}

static void assert_kernel_digest(void)
{
    uint8_t digest[DIGEST_BYTES];

    digest_memory(digest, kernel, sizeof(kernel));
    assert_true(outcome.kernel_digest.known && !outcome.kernel_digest.changed);
    assert_memory_equal(outcome.kernel_digest.sha256, digest, sizeof(digest));
}

static void a_kernel_is_read_only_when_it_is_not_remembered(void **state)
{
    (void)state;
    kernel_is_remembered = true;
    run_digests_finish(&run);
    assert_true(outcome.kernel_digest.known && outcome.kernel_digest.sha256[0] == 0xcd);
    assert_int_equal(computed, 0);
    kernel_is_remembered = false;
    run_digests_finish(&run);
    assert_kernel_digest();
    assert_int_equal(computed, 1);
}

static void a_run_without_a_task_has_the_digest_too(void **state)
{
    (void)state;
    run_digests_finish(&run);
    assert_kernel_digest();
    assert_false(outcome.image_digest.known || outcome.image_digest.changed);
}

static void the_image_has_the_digest_that_the_plan_has(void **state)
{
    (void)state;
    plan.image_digest_known = true;
    memset(plan.image_digest, 0xab, sizeof(plan.image_digest));
    run_digests_finish(&run);
    assert_true(outcome.image_digest.known && !outcome.image_digest.changed);
    assert_memory_equal(outcome.image_digest.sha256, plan.image_digest, DIGEST_BYTES);
}

static void a_file_that_was_written_has_none(void **state)
{
    struct timespec then[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    (void)state;
    plan.image_digest_known = true;
    assert_int_equal(futimens(plan.kernel_fd, then), 0);
    assert_int_equal(ftruncate(plan.image_fd, 1), 0);
    run_digests_finish(&run);
    assert_true(outcome.kernel_digest.changed && !outcome.kernel_digest.known);
    assert_true(outcome.image_digest.changed && !outcome.image_digest.known);
    assert_int_equal(outcome.cause, CAUSE_NONE); /* nobody asked for a certain one */
}

static void a_changed_image_whose_digest_was_asked_for_is_a_failure(void **state)
{
    (void)state;
    plan.image_digest_known = config.image_has_sha256 = true;
    assert_int_equal(ftruncate(plan.image_fd, 1), 0);
    run_digests_finish(&run);
    assert_int_equal(outcome.cause, CAUSE_HOST);
    assert_non_null(strstr(outcome.host_text, "sha256"));
}

static void a_file_that_was_replaced_is_still_what_it_was(void **state)
{
    (void)state;
    plan.image_digest_known = config.image_has_sha256 = true;
    usleep(20000); /* file times are coarse */
    unlink(image_path);
    run_digests_finish(&run);
    assert_true(outcome.image_digest.known && outcome.cause == CAUSE_NONE);
}

static void a_stamp_tells_a_write_from_a_name(void **state)
{
    struct file_stamp then = {.device = 1,
        .inode = 2,
        .size = 3,
        .links = 1,
        .modified = {.tv_sec = 4, .tv_nsec = 5},
        .changed = {.tv_sec = 6, .tv_nsec = 7}};
    struct file_stamp now = then;

    (void)state;
    assert_true(file_stamp_unwritten(&then, &now));
    now.changed.tv_nsec++; /* as by cp -p onto it: the times were set back */
    assert_false(file_stamp_unwritten(&then, &now));
    now.links = 0;
    assert_true(file_stamp_unwritten(&then, &now));
    now.modified.tv_nsec++;
    assert_false(file_stamp_unwritten(&then, &now));
    now = then;
    now.size++;
    assert_false(file_stamp_unwritten(&then, &now));
    now = then;
    now.inode++;
    assert_false(file_stamp_unwritten(&then, &now));
    now = then;
    now.device++;
    assert_false(file_stamp_unwritten(&then, &now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_kernel_is_read_only_when_it_is_not_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_without_a_task_has_the_digest_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_image_has_the_digest_that_the_plan_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_written_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_changed_image_whose_digest_was_asked_for_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_file_that_was_replaced_is_still_what_it_was, set_up, tear_down),
        cmocka_unit_test(a_stamp_tells_a_write_from_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
