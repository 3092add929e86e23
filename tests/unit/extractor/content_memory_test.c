/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=calloc -Wl,--wrap=realloc */
/* content_memory_test.c: the n-th allocation for a JSON file fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "extractor/content.h"
#include "tests/unit/unit.h"

enum { MANY = 1000 };

static long fail_at; /* counts down with each allocation of our own code; fails at 1 */

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
    return fail_at > 0 && --fail_at == 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* A string that goes on in the next piece and a nesting: yajl keeps both. */
static void judge_json(void)
{
    static char text[16 * 1024];
    enum artifact_type type;
    struct content *content;

    memset(text, 'x', sizeof(text));
    memcpy(text, "[[[[\"", 5);
    memcpy(text + sizeof(text) - 5, "\"]]]]", 5);
    content = content_begin((const uint8_t *)"a.json", 6, sizeof(text), 0);
    content_feed(content, (const uint8_t *)text, sizeof(text));
    if (!content_end(content, &type) || type != ARTIFACT_JSON)
        _exit(1);
    content_drop(content);
}

static int status_with_failure(long at)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        fail_at = at;
        judge_json();
        _exit(fail_at == 0 ? 1 : 0); /* it failed, and nobody noticed */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void each_failure_ends_the_process_with_its_reason(void **state)
{
    long at = 1;

    (void)state;
    while (at < MANY && status_with_failure(at) == ENOMEM)
        at++;
    assert_true(at > 3);
    assert_int_equal(status_with_failure(at), 0); /* one past the last */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_failure_ends_the_process_with_its_reason),
};

UNIT_MAIN(tests)
