/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=malloc -Wl,--wrap=strdup -Wl,--wrap=reallocarray */
/* outcome_test.c: the list of artifacts, and when an allocation for one of them fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/outcome.h"
#include "tests/unit/unit.h"

enum { ARTIFACTS = 5 };

static long fail_at; /* counts down with each allocation; fails at 1 */
static struct outcome outcome;
static struct ipc_entry entry = {
    .kind = ENTRY_FILE, .name_bytes = 3, .name = "out", .exported = "out", .size = 6};

void *__real_malloc(size_t size);
char *__real_strdup(const char *text);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

static bool fails(void)
{
    errno = ENOMEM;
    return fail_at > 0 && --fail_at == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, count, size);
}

static void expect_whole(size_t count)
{
    assert_int_equal(outcome.artifact_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(outcome.artifacts[i].name, "out", 3);
        assert_string_equal(outcome.artifacts[i].exported, "out");
        assert_int_equal(outcome.artifacts[i].size, 6);
    }
}

static void artifacts_are_kept(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARTIFACTS; i++) {
        assert_int_equal(outcome_add_artifact(&outcome, &entry, &err), 0);
        expect_whole(i + 1);
    }
    outcome_free(&outcome);
    assert_int_equal(outcome.artifact_count, 0);
}

/* None or all of an artifact is listed, whichever allocation fails, with the list full and not. */
static void an_artifact_is_kept_whole_or_not_at_all(void **state)
{
    (void)state;
    for (size_t count = 0; count < ARTIFACTS; count++) {
        struct err err = ERR_INIT;
        int failed = -1;

        for (long at = 1; failed < 0; at++) {
            fail_at = at;
            failed = outcome_add_artifact(&outcome, &entry, &err);
            assert_true(failed == 0 || err.errnum == ENOMEM);
            assert_true(failed == 0 || at <= 3);
            assert_true(failed < 0 || at > 2);
            expect_whole(failed < 0 ? count : count + 1);
        }
        fail_at = 0;
    }
    outcome_free(&outcome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(artifacts_are_kept),
    cmocka_unit_test(an_artifact_is_kept_whole_or_not_at_all),
};

UNIT_MAIN(tests)
