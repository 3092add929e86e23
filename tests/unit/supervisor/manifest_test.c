/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fdopen */
/* manifest_test.c: a manifest is there as a whole, or nothing of it is. */
#include "supervisor/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/unit.h"

static char root[] = "/tmp/manifest_test.XXXXXX", name[] = "t";
static int root_fd = -1;
static bool no_memory;
static struct config config = {.name = name};
static const struct plan plan = {.config = &config, .run_id = "1"};
static const struct outcome outcome;
static struct err err;

FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);

FILE *__wrap_fdopen(int fd, const char *mode)
{
    if (!no_memory)
        return __real_fdopen(fd, mode);
    errno = ENOMEM;
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    no_memory = false;
    err = (struct err)ERR_INIT;
    return root_fd < 0;
}

/* It fails when something is left. */
static int tear_down(void **state)
{
    (void)state;
    unlinkat(root_fd, MANIFEST_NAME, 0);
    fd_close(&root_fd);
    return rmdir(root);
}

static void one_that_cannot_be_begun_leaves_nothing(void **state)
{
    (void)state;
    no_memory = true;
    assert_int_equal(manifest_write(root_fd, &plan, &outcome, &err), -1);
    no_memory = false;
    assert_int_equal(manifest_write(root_fd, &plan, &outcome, &err), 0);
    assert_int_equal(faccessat(root_fd, MANIFEST_NAME, F_OK, 0), 0);
}

static void one_that_is_there_stays(void **state)
{
    (void)state;
    assert_int_equal(close(openat(root_fd, MANIFEST_NAME, O_WRONLY | O_CREAT, 0600)), 0);
    assert_int_equal(manifest_write(root_fd, &plan, &outcome, &err), -1);
    assert_int_equal(err.errnum, EEXIST);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(one_that_cannot_be_begun_leaves_nothing, set_up, tear_down),
    cmocka_unit_test_setup_teardown(one_that_is_there_stays, set_up, tear_down),
};

UNIT_MAIN(tests)
