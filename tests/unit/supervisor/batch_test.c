/* SPDX-License-Identifier: Apache-2.0 */
/* batch_test.c: which run may start, and what the batch ends with. */
#include "supervisor/batch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tests/unit/unit.h"

enum { RUNS = 4 };

/* What wait(2) says of an exit code. */
#define EXITED(code) ((code) << 8)

static struct batch_run runs[RUNS];
static struct batch batch;

static int set_up(void **state)
{
    (void)state;
    memset(runs, 0, sizeof(runs));
    for (int i = 0; i < RUNS; i++)
        runs[i] = (struct batch_run){.batch = &batch, .need_bytes = 100};
    batch = (struct batch){.runs = runs, .count = RUNS, .jobs = 2};
    return 0;
}

static void jobs_bound_what_runs_at_once(void **state)
{
    (void)state;
    assert_int_equal(batch_pick(&batch, 1000), 0);
    runs[0].state = BATCH_RUNNING;
    assert_int_equal(batch_pick(&batch, 1000), 1);
    runs[1].state = BATCH_RUNNING;
    assert_int_equal(batch_pick(&batch, 1000), -1);
    batch_take_end(&runs[0], EXITED(0));
    assert_int_equal(batch_pick(&batch, 1000), 2);
}

static void a_run_starts_when_its_memory_fits(void **state)
{
    (void)state;
    assert_int_equal(batch_pick(&batch, 99), -1);
    assert_int_equal(batch_pick(&batch, 100), 0);
    /* A smaller one goes first. */
    runs[0].need_bytes = 101;
    assert_int_equal(batch_pick(&batch, 100), 1);
    assert_int_equal(batch_pick(&batch, 101), 0);
}

static uint64_t resident_30(const struct batch_run *run)
{
    return run->state == BATCH_RUNNING ? 30 : 1000000;
}

static void running_runs_keep_what_they_may_still_take(void **state)
{
    (void)state;
    assert_int_equal(batch_left_bytes(&batch, 500, resident_30), 500);
    runs[0].state = BATCH_RUNNING;
    assert_int_equal(batch_left_bytes(&batch, 500, resident_30), 430);
    runs[1].state = BATCH_RUNNING;
    runs[2].state = BATCH_OK;
    assert_int_equal(batch_left_bytes(&batch, 500, resident_30), 360);
    runs[1].need_bytes = 20; /* takes more than it needs: no credit for others */
    assert_int_equal(batch_left_bytes(&batch, 500, resident_30), 430);
    assert_int_equal(batch_left_bytes(&batch, 69, resident_30), 0);
}

static void the_first_failure_in_order_is_the_exit_code(void **state)
{
    (void)state;
    for (int i = 0; i < RUNS; i++)
        batch_take_end(&runs[i], EXITED(0));
    assert_int_equal(batch_exit_code(&batch), 0);
    batch_take_end(&runs[3], EXITED(7));
    assert_int_equal(batch_exit_code(&batch), 7);
    batch_take_end(&runs[1], SIGKILL);
    assert_int_equal(batch_exit_code(&batch), 137);
    assert_int_equal(batch_count(&batch, BATCH_FAILED), 2);
}

static void a_cancelled_batch_starts_nothing_and_says_so(void **state)
{
    (void)state;
    runs[0].state = BATCH_RUNNING;
    batch_cancel(&batch, SIGINT);
    assert_int_equal(runs[0].state, BATCH_RUNNING);
    assert_int_equal(batch_count(&batch, BATCH_NOT_STARTED), 3);
    assert_int_equal(batch_pick(&batch, 1000), -1);
    batch_take_end(&runs[0], EXITED(3));
    assert_int_equal(batch_exit_code(&batch), 130);
}

/* A signal that changed nothing: all were over, or ended well. */
static void a_late_cancel_does_not_spoil_success(void **state)
{
    (void)state;
    for (int i = 0; i < RUNS; i++)
        runs[i].state = BATCH_RUNNING;
    batch_cancel(&batch, SIGTERM);
    for (int i = 0; i < RUNS; i++)
        batch_take_end(&runs[i], EXITED(0));
    assert_int_equal(batch_exit_code(&batch), 0);
}

static void progress_names_what_there_is(void **state)
{
    char text[BATCH_PROGRESS_BYTES];

    (void)state;
    batch_progress_text(&batch, text);
    assert_string_equal(text, "4 waiting");
    batch_take_end(&runs[0], EXITED(0));
    batch_take_end(&runs[1], EXITED(1));
    runs[2].state = BATCH_RUNNING;
    batch_progress_text(&batch, text);
    assert_string_equal(text, "1 ok, 1 failed, 1 running, 1 waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(jobs_bound_what_runs_at_once, set_up),
        cmocka_unit_test_setup(a_run_starts_when_its_memory_fits, set_up),
        cmocka_unit_test_setup(running_runs_keep_what_they_may_still_take, set_up),
        cmocka_unit_test_setup(the_first_failure_in_order_is_the_exit_code, set_up),
        cmocka_unit_test_setup(a_cancelled_batch_starts_nothing_and_says_so, set_up),
        cmocka_unit_test_setup(a_late_cancel_does_not_spoil_success, set_up),
        cmocka_unit_test_setup(progress_names_what_there_is, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
