/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=clock_real_ns */
/* file_digest_test.c: a digest is remembered for exactly as long as it is sure to hold. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/digest_cache.h"
#include "supervisor/file_digest.h"
#include "supervisor/text_list.h"
#include "tests/unit/unit.h"

static char root[64];
static char *path;
static int file = -1;
static uint8_t wanted[DIGEST_BYTES], digest[DIGEST_BYTES];
static struct err err;

/* The clock of files, as the kernel has it, cannot be set; that of our code can: it is this one. */
static int64_t clock_shift_ns;

uint64_t __wrap_clock_real_ns(void);
uint64_t __real_clock_real_ns(void);
uint64_t __wrap_clock_real_ns(void)
{
    return (uint64_t)((int64_t)__real_clock_real_ns() + clock_shift_ns);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/file_digest_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    setenv("XDG_CACHE_HOME", root, 1);
    path = text_format("%s/file", root);
    file = open(path, O_RDWR | O_CREAT, 0644);
    assert_true(file >= 0);
    assert_int_equal(fd_write_all(file, "content", 7), 0);
    digest_memory(wanted, "content", 7);
    clock_shift_ns = 3000000000; /* three seconds later */
    err = (struct err)ERR_INIT;
    return 0;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    fd_close(&file);
    free(path);
    return system(command);
}

static void an_old_file_is_remembered(void **state)
{
    (void)state;
    assert_false(file_digest_recall(file, digest));
    assert_int_equal(file_digest_check(file, wanted, digest, &err), 0);
    assert_memory_equal(digest, wanted, DIGEST_BYTES);
    memset(digest, 0, sizeof(digest));
    assert_true(file_digest_recall(file, digest));
    assert_memory_equal(digest, wanted, DIGEST_BYTES);
}

static void a_young_file_is_not(void **state)
{
    (void)state;
    clock_shift_ns = 0;
    assert_false(file_digest_lasts(file));
    assert_int_equal(file_digest_compute(file, digest, &err), 0);
    clock_shift_ns = 3000000000;
    assert_true(file_digest_lasts(file));
    assert_false(file_digest_recall(file, digest));
    /* Nor is one from the future, whose times say nothing. */
    clock_shift_ns = -3000000000;
    assert_false(file_digest_lasts(file));
    /* An mtime that was set back does not make it older. */
    assert_int_equal(futimens(file, (const struct timespec[]){{1, 0}, {1, 0}}), 0);
    clock_shift_ns = 0;
    assert_false(file_digest_lasts(file));
}

static void a_file_that_others_may_write_is_not(void **state)
{
    static const mode_t modes[] = {0664, 0646, 0666};

    (void)state;
    assert_int_equal(file_digest_compute(file, digest, &err), 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(fchmod(file, modes[i]), 0);
        assert_false(file_digest_lasts(file));
        assert_int_equal(file_digest_compute(file, digest, &err), 0);
        assert_false(file_digest_recall(file, digest));
    }
    assert_int_equal(fchmod(file, 0644), 0);
    assert_true(file_digest_lasts(file));
}

static void a_write_is_noticed(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(file_digest_compute(file, digest, &err), 0);
    assert_int_equal(fstat(file, &status), 0);
    usleep(20000); /* more than a tick */
    assert_int_equal(pwrite(file, "C", 1, 0), 1);
    assert_false(file_digest_recall(file, digest));
    /* With the old mtime as well: the ctime is left. */
    assert_int_equal(futimens(file, (const struct timespec[]){status.st_atim, status.st_mtim}), 0);
    assert_false(file_digest_recall(file, digest));
    assert_int_equal(file_digest_check(file, wanted, digest, &err), 0);
    assert_memory_not_equal(digest, wanted, DIGEST_BYTES);
}

/* A cache that is wrong costs a look at the file, and no run. */
static void a_cache_that_disagrees_is_not_believed(void **state)
{
    AUTO_FREE char *cache = text_format("%s/vmrun/digests", root);
    AUTO_FD int fd = -1;
    char last;
    off_t at;

    (void)state;
    assert_int_equal(file_digest_compute(file, digest, &err), 0);
    fd = open(cache, O_RDWR);
    assert_true(fd >= 0);
    at = lseek(fd, -2, SEEK_END);
    assert_int_equal(pread(fd, &last, 1, at), 1);
    last = last == '0' ? '1' : '0';
    assert_int_equal(pwrite(fd, &last, 1, at), 1);
    assert_true(file_digest_recall(file, digest));
    assert_memory_not_equal(digest, wanted, DIGEST_BYTES);
    assert_int_equal(file_digest_check(file, wanted, digest, &err), 0);
    assert_memory_equal(digest, wanted, DIGEST_BYTES);
    assert_true(file_digest_recall(file, digest)); /* and is put right */
    assert_memory_equal(digest, wanted, DIGEST_BYTES);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_file_is_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_young_file_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_others_may_write_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_that_disagrees_is_not_believed, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
