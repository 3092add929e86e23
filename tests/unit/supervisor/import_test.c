/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/supervisor/importing.c */
/* import_test.c: inputs are packed whole, sorted and sparse; what is not a plain file is refused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/supervisor/importing.h"
#include "wire/archive.h"

/* "D name|F name mode size|E offset size data|. count|" of the whole archive. */
static void archive_text(char *text, size_t text_size)
{
    uint8_t head[ARCHIVE_HEADER_BYTES], bytes[ARCHIVE_RECORD_BYTES], content[256];
    struct archive_record record = {0};
    uint64_t at = sizeof(head);
    size_t used = 0;

    assert_int_equal(fd_pread_all(archive, head, sizeof(head), 0), sizeof(head));
    assert_int_equal(archive_get_header(head, &err), 0);
    while (record.kind != ARCHIVE_END) {
        size_t size;

        assert_int_equal(fd_pread_all(archive, bytes, sizeof(bytes), at), sizeof(bytes));
        assert_int_equal(archive_get_record(bytes, &record, &err), 0);
        at += sizeof(bytes);
        size = record.kind == ARCHIVE_EXTENT ? record.size : record.name_bytes;
        memset(content, 0, sizeof(content));
        assert_true(fd_pread_all(archive, content, size < 200 ? size : 200, at) >= 0);
        at += size;
        used += (size_t)snprintf(text + used, text_size - used, "%c %s", "?DFE?."[record.kind],
            record.kind == ARCHIVE_EXTENT && size > 20 ? "(long)" : (char *)content);
        if (record.kind == ARCHIVE_FILE)
            used += (size_t)snprintf(text + used, text_size - used, " %o", record.mode);
        if (record.kind != ARCHIVE_DIR)
            used += (size_t)snprintf(text + used, text_size - used, " %llu+%llu",
                (unsigned long long)record.offset, (unsigned long long)record.size);
        used += (size_t)snprintf(text + used, text_size - used, "|");
    }
}

static void assert_archive(const char *expected)
{
    char text[2048];
    uint64_t bytes;

    assert_int_equal(ftruncate(archive, 0), 0); /* of what was refused before */
    assert_int_equal(lseek(archive, 0, SEEK_SET), 0);
    if (import_pack(&config, sources, archive, &bytes, &err) < 0)
        fail_msg("%s", err.text);
    archive_text(text, sizeof(text));
    assert_string_equal(text, expected);
}

static void files_come_with_parents_and_plain_modes(void **state)
{
    (void)state;
    make_file("x", "hello", 0600);
    make_file("run", "go", 04710);
    make_file("empty", "", 0644);
    add_input("a/b/run", "run");
    add_input("a/b/x", "x");
    add_input("a/c", "empty");
    assert_archive("D a|D a/b|F a/b/run 755 0+2|E go 0+2|F a/b/x 644 0+5|E hello 0+5|"
                   "F a/c 644 0+0|.  0+7|");
}

static void directories_are_walked_in_byte_order(void **state)
{
    (void)state;
    make_directory("d");
    make_directory("d/sub");
    make_file("d/z", "1", 0644);
    make_file("d/B", "2", 0644);
    make_file("d/sub/f", "3", 0644);
    add_input("in", "d");
    assert_archive("D in|F in/B 644 0+1|E 2 0+1|D in/sub|F in/sub/f 644 0+1|E 3 0+1|"
                   "F in/z 644 0+1|E 1 0+1|.  0+8|");
}

static void holes_stay_holes(void **state)
{
    AUTO_FREE char *path = in_root("sparse");
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT, 0644);
    struct stat status;
    uint64_t bytes;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 1 << 30), 0);
    assert_int_equal(pwrite(fd, "middle", 6, 1 << 20), 6);
    add_input("sparse", "sparse");
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), 0);
    assert_int_equal(fstat(archive, &status), 0);
    assert_true(bytes == (uint64_t)status.st_size);
    assert_true(bytes < 128 * 1024);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void links_and_devices_are_refused(void **state)
{
    AUTO_FREE char *link = in_root("d/link");
    AUTO_FREE char *fifo = in_root("d/fifo");

    (void)state;
    make_directory("d");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    add_input("in", "d");
    assert_refused("t.ini:1: [input] in = d: in/link: it is a symbolic link");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("/etc", link), 0);
    assert_refused("in/link: it is a symbolic link");
    assert_int_equal(unlink(link), 0);
    /* A fifo without a writer must not make us wait either. */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_refused("in/fifo: it is a FIFO; inputs must be regular files and directories");
    assert_int_equal(unlink(fifo), 0);
    make_socket(fifo);
    assert_refused("in/fifo: it is a socket");
    assert_int_equal(unlink(fifo), 0);
    if (mknod(fifo, S_IFCHR | 0600, makedev(1, 5)) < 0)
        return; /* only root can; a device without its driver would not open either */
    assert_refused("in/fifo: it is a device");
}

static void links_are_followed_within(void **state)
{
    AUTO_FREE char *file_link = in_root("d/a/link");
    AUTO_FREE char *directory_link = in_root("d/b/link");
    AUTO_FREE char *outside = in_root("d/out");

    (void)state;
    make_file("secret", "secret", 0644);
    make_directory("d");
    make_directory("d/a");
    make_directory("d/b");
    make_file("d/b/f", "f", 0644);
    assert_int_equal(symlink("../b/f", file_link), 0);
    assert_int_equal(symlink("../a", directory_link), 0);
    add_input("in", "d");
    assert_refused("in/a/link: it is a symbolic link");
    config.input_follow = 1;
    assert_archive("D in|D in/a|F in/a/link 644 0+1|E f 0+1|D in/b|F in/b/f 644 0+1|E f 0+1|"
                   "D in/b/link|F in/b/link/link 644 0+1|E f 0+1|.  0+10|");
    assert_int_equal(symlink("../secret", outside), 0);
    assert_refused("in/out: it is a symbolic link that leads out of the input directory");
    assert_int_equal(unlink(outside), 0);
    assert_int_equal(symlink("/etc/passwd", outside), 0);
    assert_refused("in/out: it is a symbolic link that leads out of the input directory");
    assert_int_equal(unlink(outside), 0);
    assert_int_equal(symlink("out", outside), 0);
    assert_refused("in/out: it is a symbolic link that leads to itself");
    assert_int_equal(unlink(outside), 0);
    assert_int_equal(symlink("nowhere", outside), 0);
    assert_refused("in/out: cannot open it: No such file");
}

static void a_link_upwards_is_not_followed_for_ever(void **state)
{
    AUTO_FREE char *up = in_root("d/a/up");

    (void)state;
    make_directory("d");
    make_directory("d/a");
    assert_int_equal(symlink("..", up), 0);
    add_input("in", "d");
    config.input_follow = 1;
    assert_refused("in/a/up: it is a symbolic link to a directory that it lies in");
}

static void caps(void **state)
{
    uint64_t bytes;

    (void)state;
    make_directory("d");
    make_file("d/a", "12345", 0644);
    make_file("d/b", "678", 0644);
    add_input("in", "d");
    config.input_total_bytes = 8;
    config.input_files = 3;
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), 0);
    config.input_total_bytes = 7;
    assert_refused("in/b: with it the inputs have more than 7B; raise [input_options] max_total");
    config.input_total_bytes = 8;
    config.input_files = 2;
    assert_refused("in/b: more than 2 files and directories; raise [input_options] max_files");
}

static void names_of_any_bytes(void **state)
{
    AUTO_FREE char *fifo = in_root("d/\033[31m\n\xff");

    (void)state;
    make_directory("d");
    make_file("d/\xfe \t\n", "x", 0644);
    add_input("in", "d");
    assert_archive("D in|F in/\xfe \t\n 644 0+1|E x 0+1|.  0+3|");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_refused("it is a FIFO");
    assert_null(strchr(err.text, '\033'));
    assert_null(strchr(err.text, '\n'));
}

static void a_tree_that_is_too_deep_is_refused(void **state)
{
    char name[512] = "d";
    uint64_t bytes;

    (void)state;
    make_directory(name);
    for (int i = 0; i < (int)config.input_depth; i++) {
        strcat(name, "/d");
        make_directory(name);
    }
    add_input("in", "d");
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), 0);
    strcat(name, "/d");
    make_directory(name);
    assert_refused("more than 64 directories deep");
}

static const struct CMUnitTest tests[] = {
    TEST(files_come_with_parents_and_plain_modes),
    TEST(directories_are_walked_in_byte_order),
    TEST(holes_stay_holes),
    TEST(links_and_devices_are_refused),
    TEST(a_tree_that_is_too_deep_is_refused),
    TEST(links_are_followed_within),
    TEST(a_link_upwards_is_not_followed_for_ever),
    TEST(caps),
    TEST(names_of_any_bytes),
};

UNIT_MAIN(tests)
