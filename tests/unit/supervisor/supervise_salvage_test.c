/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/supervised.c tests/unit/supervisor/fake_children.c */
/* supervise_salvage_test.c: when a second machine is started, and what comes of what it says. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/supervisor/supervised.h"

static void lose(void **state, const char *script)
{
    tear_down(state);
    set_up(state);
    config.salvage = 1;
    text_list_add(&config.collect, "a?b");
    salvage_disks_made = 0;
    supervise_script(script);
}

static void what_a_lost_guest_left_is_exported(void **state)
{
    lose(state, "lost");
    assert_verdict("guest_failed", 125); /* as without it */
    assert_int_equal(outcome.ended.cause, IPC_END_SHUTDOWN);
    assert_true(outcome.salvage.tried && outcome.salvage.exported && !outcome.has_exported);
    assert_true(outcome.has_extracted && outcome.artifact_count == 1);
    assert_int_equal(faccessat(output_fd, "artifacts/file", F_OK, 0), 0);
    assert_int_equal(salvage_disks_made, 1);
}

static void a_guest_that_the_host_ended_was_lost_too(void **state)
{
    lose(state, "ok"); /* not this one */
    assert_verdict("ok", 0);
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    config.salvage = 1;
    config.wall_ns = 100 * NS_PER_MS;
    text_list_add(&config.collect, "a?b");
    supervise_script("hang");
    assert_verdict("limit", 124);
    assert_true(outcome.salvage.exported && outcome.has_extracted);
}

static void a_second_guest_that_is_lost_too_ends_the_matter(void **state)
{
    static const struct {
        const char *script;
        const char *text;
    } cases[] = {{"lost-2", "the second guest reset itself"},
        {"lost-crash", "was killed by signal 6"}, {"lost-start", "it sent record 12 out of turn"},
        {"lost-twice", "it sent record 14 out of turn"}, {"lost-int", "the run was cancelled"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lose(state, cases[i].script);
        assert_verdict("guest_failed", 125);
        assert_true(outcome.salvage.tried && !outcome.salvage.exported);
        if (!strstr(outcome.salvage.text, cases[i].text))
            fail_msg("%s: \"%s\"", cases[i].script, outcome.salvage.text);
        assert_false(outcome.extracted_due);
        assert_true(output_has("artifacts"));
        assert_int_equal(faccessat(output_fd, "artifacts/file", F_OK, 0), -1);
    }
    lose(state, "lost-early"); /* done, it says, without having said what */
    assert_true(outcome.salvage.tried && !outcome.salvage.exported && !outcome.extracted_due);
}

static void what_is_not_salvaged(void **state)
{
    lose(state, "lost-boot"); /* no task had begun */
    assert_false(outcome.salvage.tried);
    lose(state, "lost-disk"); /* the host's trouble would meet the second as well */
    assert_false(outcome.salvage.tried);
    lose(state, "stubborn"); /* cancelled twice: at once means at once */
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    config.salvage = 1; /* nothing is to be collected */
    supervise_script("lost");
    assert_false(outcome.salvage.tried);
    tear_down(state);
    set_up(state);
    text_list_add(&config.collect, "f"); /* salvage = no */
    supervise_script("lost");
    assert_false(outcome.salvage.tried);
    assert_int_equal(salvage_disks_made, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(what_a_lost_guest_left_is_exported),
    TEST(a_guest_that_the_host_ended_was_lost_too),
    TEST(a_second_guest_that_is_lost_too_ends_the_matter),
    TEST(what_is_not_salvaged),
};

SUPERVISED_MAIN(tests)
