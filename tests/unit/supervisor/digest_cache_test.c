/* SPDX-License-Identifier: Apache-2.0 */
/* digest_cache_test.c: only what is exactly right is found; a bad cache is an empty one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/digest_cache.h"
#include "supervisor/text_list.h"
#include "tests/unit/unit.h"

static const struct digest_key key = {.device = 1,
    .inode = 2,
    .size = 3,
    .modified_s = 4,
    .modified_ns = 5,
    .changed_s = 6,
    .changed_ns = 7};
static const uint8_t right[DIGEST_BYTES] = {0xab, 1};
static char text[DIGEST_CACHE_MAX_BYTES], other[DIGEST_CACHE_MAX_BYTES];
static char root[64];

static bool finds(const struct digest_key *wanted, size_t size)
{
    uint8_t digest[DIGEST_BYTES];

    if (!digest_cache_find(text, size, wanted, digest))
        return false;
    assert_memory_equal(digest, right, DIGEST_BYTES);
    return true;
}

static void every_field_of_the_key_counts(void **state)
{
    size_t size = digest_cache_put(text, "", 0, &key, right);
    uint64_t *fields[7];
    struct digest_key wanted = key;

    (void)state;
    assert_true(finds(&key, size));
    fields[0] = &wanted.device;
    fields[1] = &wanted.inode;
    fields[2] = &wanted.size;
    fields[3] = &wanted.modified_s;
    fields[4] = &wanted.modified_ns;
    fields[5] = &wanted.changed_s;
    fields[6] = &wanted.changed_ns;
    for (size_t i = 0; i < 7; i++) {
        (*fields[i])++;
        assert_false(finds(&wanted, size));
        (*fields[i])--;
    }
    wanted.has_verity = true;
    assert_false(finds(&wanted, size));
}

static void with_verity_that_alone_counts(void **state)
{
    struct digest_key verity = key, moved = {.has_verity = true, .verity = {9}};
    size_t size;

    (void)state;
    verity.has_verity = true;
    verity.verity[0] = 9;
    size = digest_cache_put(text, "", 0, &verity, right);
    assert_true(finds(&verity, size));
    assert_true(finds(&moved, size));
    assert_false(finds(&key, size));
    moved.verity[31] = 1;
    assert_false(finds(&moved, size));
}

static void a_file_is_there_once_and_the_oldest_goes(void **state)
{
    struct digest_key newer = key;
    size_t size = digest_cache_put(text, "", 0, &key, right);

    (void)state;
    newer.changed_s++;
    size = digest_cache_put(other, text, size, &newer, right);
    memcpy(text, other, size);
    assert_true(finds(&newer, size));
    assert_false(finds(&key, size));
    for (uint64_t i = 0; i < DIGEST_CACHE_ENTRIES_MAX; i++) {
        struct digest_key next = key;

        next.inode = 1000 + i;
        size = digest_cache_put(other, text, size, &next, right);
        assert_true(size <= DIGEST_CACHE_MAX_BYTES);
        memcpy(text, other, size);
        assert_true(finds(&next, size));
    }
    assert_false(finds(&newer, size));
}

static void a_damaged_text_is_an_empty_one(void **state)
{
    size_t size = digest_cache_put(text, "", 0, &key, right);

    (void)state;
    for (size_t cut = 0; cut < size; cut++)
        assert_false(finds(&key, cut));
    for (size_t i = 0; i < size; i++) {
        uint8_t digest[DIGEST_BYTES];
        char was = text[i];

        text[i] = was == '0' ? 'x' : '\n';
        if (was != '\n')
            assert_false(digest_cache_find(text, size, &key, digest));
        text[i] = was;
    }
    memcpy(text + size, "rest", 4);
    assert_false(finds(&key, size + 4));
    /* What is kept next replaces it. */
    size = digest_cache_put(other, text, size + 4, &key, right);
    memcpy(text, other, size);
    assert_true(finds(&key, size));
}

/* ---- the file -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/digest_cache_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    return setenv("XDG_CACHE_HOME", root, 1);
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    return system(command);
}

static bool has(void)
{
    uint8_t digest[DIGEST_BYTES];

    return digest_cache_get(&key, digest) && memcmp(digest, right, DIGEST_BYTES) == 0;
}

static void it_is_kept_in_a_file_of_the_users_own(void **state)
{
    AUTO_FREE char *file = text_format("%s/vmrun/digests", root);
    struct stat status;

    (void)state;
    assert_false(has());
    digest_cache_keep(&key, right);
    assert_true(has());
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    digest_cache_keep(&key, right);
    assert_true(has());
}

static void what_others_could_have_written_is_not_read(void **state)
{
    AUTO_FREE char *directory = text_format("%s/vmrun", root);
    AUTO_FREE char *file = text_format("%s/vmrun/digests", root);
    AUTO_FREE char *elsewhere = text_format("%s/elsewhere", root);

    (void)state;
    digest_cache_keep(&key, right);
    assert_int_equal(chmod(file, 0620), 0);
    assert_false(has());
    assert_int_equal(chmod(file, 0604), 0);
    assert_false(has());
    assert_int_equal(chmod(file, 0600), 0);
    assert_true(has());
    assert_int_equal(chmod(directory, 0720), 0);
    assert_false(has());
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(link(file, elsewhere), 0);
    assert_false(has());
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("../elsewhere", file), 0);
    assert_false(has());
    digest_cache_keep(&key, right); /* replaces the link and leaves alone what it leads to */
    assert_true(has());
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0); /* nobody writes: that is not waited for */
    assert_false(has());
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rename(directory, elsewhere) == 0 || unlink(elsewhere) == 0, 1);
    (void)rename(directory, elsewhere);
    assert_int_equal(symlink("elsewhere", directory), 0);
    digest_cache_keep(&key, right);
    assert_false(has());
}

static void without_a_place_nothing_is_kept(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/proc/nowhere", 1);
    digest_cache_keep(&key, right);
    assert_false(has());
    unsetenv("HOME");
    digest_cache_keep(&key, right);
    assert_false(has());
}

static void home_is_the_second_choice(void **state)
{
    AUTO_FREE char *file = text_format("%s/.cache/vmrun/digests", root);

    (void)state;
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", root, 1);
    digest_cache_keep(&key, right);
    assert_true(has());
    assert_int_equal(access(file, F_OK), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_the_key_counts),
        cmocka_unit_test(with_verity_that_alone_counts),
        cmocka_unit_test(a_file_is_there_once_and_the_oldest_goes),
        cmocka_unit_test(a_damaged_text_is_an_empty_one),
        cmocka_unit_test_setup_teardown(it_is_kept_in_a_file_of_the_users_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            what_others_could_have_written_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_place_nothing_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(home_is_the_second_choice, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
