/* SPDX-License-Identifier: Apache-2.0 */
/* ground_uid_test.c: which user ID a run of root's takes for its children. */
#include "jail/ground.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "tests/unit/unit.h"

enum { FIRST_UID = 1900000700 };

/* A process of UID, as a child of a run that is gone is one; it ends by itself after LIFE_MS. */
static pid_t process_of(uid_t uid, long life_ms)
{
    const struct timespec life = {
        .tv_sec = life_ms / 1000, .tv_nsec = life_ms % 1000 * 1000 * 1000};
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setresuid(uid, uid, uid) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        nanosleep(&life, NULL);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int take(uint32_t count, struct jail_ground *ground, struct err *err)
{
    const struct jail_ground_wish wish = {.first_uid = FIRST_UID, .count = count};

    *err = (struct err)ERR_INIT;
    return jail_ground_make(ground, &wish, err);
}

static void skip_without_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("not root, which has no user IDs to give\n");
    skip();
}

static void each_run_has_its_own(void **state)
{
    struct jail_ground first, second, third;
    struct err err;
    uint64_t begun;

    (void)state;
    skip_without_root();
    assert_int_equal(take(2, &first, &err), 0);
    assert_int_equal(take(2, &second, &err), 0);
    assert_int_equal(first.uid, FIRST_UID);
    assert_int_equal(second.uid, FIRST_UID + 1);
    begun = clock_mono_ns();
    assert_int_equal(take(2, &third, &err), -1);
    assert_non_null(strstr(err.text, "jail_uids"));
    assert_true(clock_mono_ns() - begun < 900 * NS_PER_MS); /* runs are not waited for */
    jail_ground_free(&third);
    jail_ground_free(&second);
    jail_ground_free(&first);
}

static void one_that_a_process_has_is_left_out(void **state)
{
    struct jail_ground ground;
    struct err err;
    pid_t pid;

    (void)state;
    skip_without_root();
    pid = process_of(FIRST_UID, 60 * 1000);
    assert_int_equal(take(2, &ground, &err), 0);
    assert_int_equal(ground.uid, FIRST_UID + 1);
    jail_ground_free(&ground);
    assert_int_equal(take(1, &ground, &err), -1);
    assert_non_null(strstr(err.text, "other runs or processes"));
    jail_ground_free(&ground);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(take(1, &ground, &err), 0);
    assert_int_equal(ground.uid, FIRST_UID);
    jail_ground_free(&ground);
}

static void what_dies_is_waited_for(void **state)
{
    struct jail_ground ground;
    struct err err;

    (void)state;
    skip_without_root();
    signal(SIGCHLD, SIG_IGN); /* no zombie stays */
    process_of(FIRST_UID, 200);
    assert_int_equal(take(1, &ground, &err), 0);
    assert_int_equal(ground.uid, FIRST_UID);
    jail_ground_free(&ground);
    signal(SIGCHLD, SIG_DFL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_run_has_its_own),
    cmocka_unit_test(one_that_a_process_has_is_left_out),
    cmocka_unit_test(what_dies_is_waited_for),
};

UNIT_MAIN(tests)
