/* SPDX-License-Identifier: Apache-2.0 */
/* export_test.c: a tree that a task may have left, as the archive that comes out of it. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/num.h"
#include "guest-agent/archive_out.h"
#include "guest-agent/export.h"
#include "tests/unit/guest-agent/tree.h"

enum { DISK_BYTES = 8 << 20, TEXT_BYTES = 1 << 16, NAME_BYTES = 255 };

static struct tree tree;
static struct tree disk;
static struct wire_exported exported;
static struct export_caps caps;
static uint8_t archive[DISK_BYTES];
static char text[TEXT_BYTES]; /* the archive in words, one record a line */
static size_t used;

static int set_up(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_make(&disk);
    memset(&exported, 0, sizeof(exported));
    caps = (struct export_caps)EXPORT_CAPS_NONE;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(&tree);
    tree_remove(&disk);
    return 0;
}

static void say_record(const struct archive_record *record, const uint8_t *name)
{
    int length = (int)record->name_bytes;
    const char *bytes = (const char *)name;

    if (record->kind == ARCHIVE_DIR)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "dir %o %.*s\n", record->mode, length, bytes);
    else if (record->kind == ARCHIVE_FILE)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "file %o %.*s %llu\n",
            record->mode, length, bytes, (unsigned long long)record->size);
    else if (record->kind == ARCHIVE_EXTENT)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "extent %llu %llu\n",
            (unsigned long long)record->offset, (unsigned long long)record->size);
    else if (record->kind == ARCHIVE_SKIPPED)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "skipped %s %.*s\n",
            archive_skip_text(record->mode), length, bytes);
    assert_true(used < sizeof(text));
}

/* Check the archive as its reader would, and put it into words. */
static void read_archive(uint64_t disk_bytes)
{
    uint64_t records = 0;
    size_t at = ARCHIVE_HEADER_BYTES;
    struct err err = ERR_INIT;

    used = 0;
    text[0] = '\0';
    assert_true(exported.archive_bytes <= disk_bytes);
    assert_int_equal(archive_get_header(archive, &err), 0);
    for (;;) {
        struct archive_record record;

        assert_int_equal(archive_get_record(archive + at, &record, &err), 0);
        at += ARCHIVE_RECORD_BYTES;
        if (record.kind == ARCHIVE_END) {
            assert_int_equal(record.size, records);
            break;
        }
        say_record(&record, archive + at);
        at += record.name_bytes + (record.kind == ARCHIVE_EXTENT ? record.size : 0);
        records++;
    }
    assert_int_equal(at, exported.archive_bytes);
}

static void export_to(uint64_t disk_bytes, const char **paths, size_t count)
{
    int fd = openat(disk.fd, "disk", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && disk_bytes <= sizeof(archive));
    assert_int_equal(ftruncate(fd, (off_t)disk_bytes), 0);
    export_run(tree.fd, paths, count, &caps, fd, disk_bytes, &exported);
    assert_int_equal(lseek(fd, 0, SEEK_END), disk_bytes); /* nothing beyond the end */
    memset(archive, 0xee, sizeof(archive));
    assert_int_equal(fd_pread_all(fd, archive, disk_bytes, 0), disk_bytes);
    fd_close(&fd);
}

static void expect(const char **paths, size_t count, const char *want)
{
    export_to(DISK_BYTES, paths, count);
    assert_int_equal(exported.error, 0);
    read_archive(DISK_BYTES);
    assert_string_equal(text, want);
}

#define EXPECT(want, ...)                                                                          \
    expect((const char *[]){__VA_ARGS__},                                                          \
        sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *), want)

static void one_file_with_its_parents(void **state)
{
    (void)state;
    tree_dir(&tree, "a", 0750);
    tree_dir(&tree, "a/b", 0700);
    tree_file(&tree, "a/b/chart", "hello");
    tree_file(&tree, "a/not-asked-for", "x");
    EXPECT("dir 750 a\ndir 700 a/b\nfile 644 a/b/chart 5\nextent 0 5\n", "a/b/chart");
    assert_int_equal(exported.files, 1);
    assert_int_equal(exported.skipped, 0);
}

static void a_tree_in_order(void **state)
{
    (void)state;
    tree_dir(&tree, "o", 0755);
    tree_dir(&tree, "o/b", 0755);
    tree_file(&tree, "o/b/2", "");
    tree_file(&tree, "o/b/10", "");
    tree_file(&tree, "o/b.txt", "");
    tree_file(&tree, "o/Z", "");
    tree_file(&tree, "o/\xff\n", "");
    EXPECT("dir 755 o\nfile 644 o/Z 0\ndir 755 o/b\nfile 644 o/b/10 0\nfile 644 o/b/2 0\n"
           "file 644 o/b.txt 0\nfile 644 o/\xff\n 0\n",
        "o");
}

static void paths_that_overlap(void **state)
{
    (void)state;
    tree_dir(&tree, "o", 0755);
    tree_dir(&tree, "o/p", 0755);
    tree_file(&tree, "o/p/x", "");
    tree_file(&tree, "o/p/y", "");
    tree_file(&tree, "o.x", "");
    /* Shared parents once, the same path once, what a tree brought not again. */
    EXPECT("dir 755 o\ndir 755 o/p\nfile 644 o/p/x 0\nfile 644 o/p/y 0\n", "o/p/y", "o/p/x");
    EXPECT("dir 755 o\ndir 755 o/p\nfile 644 o/p/x 0\nfile 644 o/p/y 0\nfile 644 o.x 0\n", "o.x",
        "o/p/x", "o", "o/p", "o");
    EXPECT(
        "dir 755 o\ndir 755 o/p\nfile 644 o/p/x 0\nfile 644 o/p/y 0\nfile 644 o.x 0\n", "o/p", ".");
}

static void what_is_not_there(void **state)
{
    (void)state;
    tree_dir(&tree, "o", 0755);
    tree_file(&tree, "o/f", "");
    EXPECT("skipped missing gone\ndir 755 o\nfile 644 o/f 0\nskipped missing o/f/g\n"
           "skipped missing o/none\n",
        "o", "gone", "o/none", "o/f/g");
    /* Nothing to bring: no parents either. */
    EXPECT("skipped missing o/x/y\n", "o/x/y");
    EXPECT("skipped missing gone\n", "gone");
    assert_int_equal(exported.skipped, 1);
}

static void what_is_neither_file_nor_directory(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    tree_dir(&tree, "o", 0755);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/o/socket", tree.path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(mkfifoat(tree.fd, "o/fifo", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", tree.fd, "o/absolute"), 0);
    assert_int_equal(symlinkat("..", tree.fd, "o/up"), 0);
    assert_int_equal(symlinkat("o", tree.fd, "alias"), 0);
    tree_file(&tree, "o/f", "");
    EXPECT("skipped symlink alias\nskipped symlink alias/f\ndir 755 o\n"
           "skipped symlink o/absolute\nfile 644 o/f 0\nskipped fifo o/fifo\n"
           "skipped socket o/socket\nskipped symlink o/up\nskipped symlink o/up/o/f\n",
        "o", "alias", "alias/f", "o/up/o/f");
    fd_close(&fd);
}

static void holes_stay_holes(void **state)
{
    (void)state;
    tree_write(&tree, "sparse", "data", 4, 1 << 20);
    int fd = openat(tree.fd, "sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4 << 20), 0);
    fd_close(&fd);
    fd = openat(tree.fd, "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(ftruncate(fd, 1LL << 40), 0); /* far beyond the disk, but nothing in it */
    fd_close(&fd);
    EXPECT("file 644 hole 1099511627776\nfile 644 sparse 4194304\nextent 1048576 4096\n", "hole",
        "sparse");
}

static void large_files_byte_for_byte(void **state)
{
    static uint8_t content[3000000], back[3000000];
    size_t at = ARCHIVE_HEADER_BYTES + ARCHIVE_RECORD_BYTES + 3, extents = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)(i * 2654435761U >> 13);
    tree_write(&tree, "big", content, sizeof(content), 0);
    export_to(DISK_BYTES, (const char *[]){"big"}, 1);
    read_archive(DISK_BYTES);
    while (le32_load(archive + at) == ARCHIVE_EXTENT) {
        uint64_t size = le64_load(archive + at + 16), offset = le64_load(archive + at + 24);

        assert_true(range_within(offset, size, sizeof(back)));
        memcpy(back + offset, archive + at + ARCHIVE_RECORD_BYTES, size);
        at += ARCHIVE_RECORD_BYTES + size;
        extents++;
    }
    assert_memory_equal(back, content, sizeof(content));
    assert_true(extents <= sizeof(content) / ARCHIVE_OUT_EXTENT_BYTES + 1);
}

/* At every size of the disk: a whole archive within it, or an error that says so. */
static void every_size_of_disk(void **state)
{
    static uint8_t content[1000];
    bool whole = false;

    (void)state;
    tree_dir(&tree, "o", 0755);
    tree_write(&tree, "o/1", content, sizeof(content), 0);
    tree_write(&tree, "o/2", content, sizeof(content), 0);
    tree_file(&tree, "o/3", "x");
    for (uint64_t size = 0; size < 6000; size += 8) {
        export_to(size, (const char *[]){"o", "gone"}, 2);
        if (size < ARCHIVE_HEADER_BYTES + ARCHIVE_RECORD_BYTES) {
            assert_int_equal(exported.error, ENOSPC);
            continue;
        }
        read_archive(size);
        whole = exported.error == 0 && exported.skipped == 1 && exported.files == 3;
        if (exported.error == 0 && !whole)
            assert_non_null(strstr(text, "skipped no_space o"));
    }
    assert_true(whole);
}

static void a_full_disk_takes_what_still_fits(void **state)
{
    static uint8_t content[600000];

    (void)state;
    tree_write(&tree, "a", content, sizeof(content), 0);
    tree_write(&tree, "b", content, sizeof(content), 0);
    tree_file(&tree, "c", "small");
    export_to(1 << 20, (const char *[]){"a", "b", "c"}, 3);
    read_archive(1 << 20);
    assert_non_null(strstr(text, "skipped no_space b\nfile 644 c 5\n"));
    assert_int_equal(exported.error, 0);
    assert_int_equal(exported.files, 2);
}

/* More is skipped than the reserve can say. */
static void too_much_to_say(void **state)
{
    (void)state;
    tree_dir(&tree, "o", 0755);
    for (int i = 0; i < 500; i++) {
        char path[200];

        snprintf(path, sizeof(path), "o/%0150d", i);
        assert_int_equal(symlinkat("x", tree.fd, path), 0);
    }
    export_to(16 << 10, (const char *[]){"o"}, 1);
    assert_int_equal(exported.error, ENOSPC);
    read_archive(16 << 10);
}

static void patterns_mean_what_is_there(void **state)
{
    (void)state;
    tree_dir(&tree, "a", 0755);
    tree_dir(&tree, "b", 0755);
    tree_dir(&tree, ".c", 0755);
    tree_file(&tree, "a/1.png", "");
    tree_file(&tree, "a/2.png", "");
    tree_file(&tree, "a/x.txt", "");
    tree_file(&tree, "b/1.png", "");
    tree_file(&tree, ".c/1.png", "");
    tree_file(&tree, "*.png", ""); /* a name, not a pattern */
    assert_int_equal(symlinkat("a", tree.fd, "link"), 0);
    EXPECT("file 644 *.png 0\ndir 755 a\nfile 644 a/1.png 0\nfile 644 a/2.png 0\ndir 755 b\n"
           "file 644 b/1.png 0\nskipped symlink link\n",
        "*/*.png", "*.png", "a/?.png");
    EXPECT("skipped missing *.gif\nskipped missing a/*/x\nskipped missing x*/y\n", "x*/y", "*.gif",
        "a/*/x");
    EXPECT("dir 755 a\nfile 644 a/1.png 0\nfile 644 a/2.png 0\nfile 644 a/x.txt 0\n", "a*");
    EXPECT("skipped symlink link\n", "lin?/1.png");
    EXPECT("dir 755 .c\nfile 644 .c/1.png 0\n", ".?/*");
}

static void caps_inside_at_and_past(void **state)
{
    (void)state;
    tree_dir(&tree, "o", 0755);
    tree_file(&tree, "o/a", "1234");
    tree_file(&tree, "o/b", "12345");
    tree_file(&tree, "o/c", "123");
    tree_file(&tree, "o/d", "1");
    caps.file_bytes = 4;
    caps.total_bytes = 7;
    EXPECT("dir 755 o\nfile 644 o/a 4\nextent 0 4\nskipped file_too_big o/b\nfile 644 o/c 3\n"
           "extent 0 3\nskipped total_too_big o/d\n",
        "o");
    caps = (struct export_caps)EXPORT_CAPS_NONE;
    caps.files = 3;
    EXPECT("dir 755 o\nfile 644 o/a 4\nextent 0 4\nfile 644 o/b 5\nextent 0 5\n"
           "skipped too_many_files o/c\nskipped too_many_files o/d\n",
        "o");
    assert_int_equal(exported.skipped, 2);
    caps.files = 1;
    EXPECT("dir 755 o\nskipped too_many_files o/a\n", "o"); /* as many listed as allowed */
    assert_int_equal(exported.skipped, 4);
    EXPECT("dir 755 o\nskipped too_many_files o/a\n", "o/a");
    caps = (struct export_caps)EXPORT_CAPS_NONE;
    caps.depth = 2;
    tree_dir(&tree, "o/e", 0755);
    tree_dir(&tree, "o/e/f", 0755);
    tree_file(&tree, "o/e/g", "");
    EXPECT("dir 755 o\ndir 755 o/e\nskipped too_deep o/e/f\nskipped too_deep o/e/g\n", "o/e");
}

static void a_sparse_giant_is_not_read(void **state)
{
    int fd = openat(tree.fd, "giant", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    (void)state;
    assert_int_equal(ftruncate(fd, 1LL << 40), 0);
    fd_close(&fd);
    caps.file_bytes = 1 << 20;
    EXPECT("skipped file_too_big giant\n", "giant");
    caps.file_bytes = 1LL << 40;
    EXPECT("file 644 giant 1099511627776\n", "giant");
}

static void disk_errors(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* cannot be written */

    (void)state;
    tree_file(&tree, "f", "x");
    export_run(tree.fd, (const char *[]){"f"}, 1, &caps, fd, 1 << 20, &exported);
    assert_int_equal(exported.error, EBADF);
    fd_close(&fd);
}

/* COUNT directories in one another, each with a name of LENGTH bytes; returns the fd of the last.
 */
static int nest(int count, size_t length)
{
    char name[NAME_BYTES + 1] = "";
    int at = dup(tree.fd);

    memset(name, 'n', length);
    for (int i = 0; i < count; i++) {
        int next;

        assert_int_equal(mkdirat(at, name, 0755), 0);
        next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close(&at);
        at = next;
    }
    return at;
}

static size_t lines_that_begin(const char *word)
{
    size_t count = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        count += strncmp(line, word, strlen(word)) == 0;
    return count;
}

static void depth_at_its_limit(void **state)
{
    for (int extra = 0; extra <= 1; extra++) {
        int fd = nest(EXPORT_DEPTH_MAX + extra, 1);
        int file = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_true(file >= 0);
        fd_close(&file);
        fd_close(&fd);
        export_to(DISK_BYTES, (const char *[]){"n"}, 1);
        read_archive(DISK_BYTES);
        assert_int_equal(lines_that_begin("dir"), EXPORT_DEPTH_MAX);
        assert_int_equal(lines_that_begin("file"), !extra);
        assert_int_equal(lines_that_begin("skipped too_deep"), extra);
        tear_down(state);
        set_up(state);
    }
}

static void names_at_their_limit(void **state)
{
    int fd = nest(ARCHIVE_NAME_MAX_BYTES / 256, NAME_BYTES);
    int file = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    char top[NAME_BYTES + 1] = "";

    (void)state;
    assert_true(file >= 0);
    fd_close(&file);
    fd_close(&fd);
    memset(top, 'n', NAME_BYTES);
    /* 16 names and 15 slashes are 4095 bytes; what is in the last is too long. */
    export_to(DISK_BYTES, (const char *[]){top}, 1);
    read_archive(DISK_BYTES);
    assert_int_equal(lines_that_begin("dir"), 16);
    assert_int_equal(lines_that_begin("skipped name_too_long"), 1);
    assert_int_equal(exported.files, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_file_with_its_parents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tree_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths_that_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_neither_file_nor_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_files_byte_for_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_size_of_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_takes_what_still_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_much_to_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patterns_mean_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(caps_inside_at_and_past, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sparse_giant_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disk_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth_at_its_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_at_their_limit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
