/* SPDX-License-Identifier: Apache-2.0 */
/* import_test.c: inputs are packed whole, sorted and sparse; what is not a plain file is refused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/import.h"
#include "tests/unit/unit.h"
#include "wire/archive.h"

static char root[64];
static struct config config;
static int sources[CONFIG_INPUTS_MAX];
static int archive = -1;
static struct err err;

static char *in_root(const char *name)
{
    return text_format("%s/%s", root, name);
}

static void make_file(const char *name, const char *content, mode_t mode)
{
    AUTO_FREE char *path = in_root(name);
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

static void make_directory(const char *name)
{
    AUTO_FREE char *path = in_root(name);

    assert_int_equal(mkdir(path, 0700), 0);
}

/* NAME in the root becomes DESTINATION. */
static void add_input(const char *destination, const char *name)
{
    AUTO_FREE char *path = in_root(name);
    struct config_input *input = &config.inputs[config.input_count];

    *input = (struct config_input){.destination = text_clone(destination, strlen(destination)),
        .source = text_clone(name, strlen(name)),
        .where = text_clone("t.ini:1", 7)};
    sources[config.input_count] = open(path, O_RDONLY | O_NOFOLLOW);
    assert_true(sources[config.input_count] >= 0);
    config.input_count++;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/import_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    archive = memfd_create("archive", 0);
    config.input_total_bytes = 1ULL << 30;
    config.input_files = 1000;
    config.input_depth = 64;
    config.input_follow = 0;
    err = (struct err)ERR_INIT;
    return archive < 0;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    for (size_t i = 0; i < config.input_count; i++) {
        free(config.inputs[i].destination);
        free(config.inputs[i].source);
        free(config.inputs[i].where);
        fd_close(&sources[i]);
    }
    config.input_count = 0;
    fd_close(&archive);
    return system(command);
}

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

static void assert_refused(const char *message)
{
    uint64_t bytes;

    err = (struct err)ERR_INIT;
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), -1);
    if (!strstr(err.text, message))
        fail_msg("\"%s\" lacks \"%s\"", err.text, message);
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

/* ---- changes while the archive is written: it goes into a pipe, whose reader makes them -------
 */

enum { BIG_BYTES = 64 * 65536 }; /* more than a pipe holds */

static void make_big_file(const char *name)
{
    AUTO_FREE char *path = in_root(name);
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT, 0644);
    static char filler[65536] = "filler";

    assert_true(fd >= 0);
    for (uint64_t at = 0; at < BIG_BYTES; at += sizeof(filler)) /* written: no holes */
        assert_int_equal(fd_pwrite_all(fd, filler, sizeof(filler), at), 0);
}

/* CHANGE happens when packing waits for its reader, who finds SECRET nowhere. */
static void refuse_change(int (*change)(void), const char *message)
{
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char block[65536 + 1];
        ssize_t count;

        close(ends[1]);
        if (read(ends[0], block, 1) != 1)
            _exit(1);
        usleep(50000); /* times of files are only as fine as the kernel's tick */
        if (change() < 0)
            _exit(2);
        while ((count = read(ends[0], block, sizeof(block) - 1)) > 0) {
            if (memmem(block, (size_t)count, "secret", 6))
                _exit(3);
        }
        _exit(0);
    }
    close(ends[0]);
    fd_close(&archive);
    archive = ends[1];
    assert_refused(message);
    fd_close(&archive);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int with_big(int (*change)(int fd))
{
    AUTO_FREE char *path = in_root("d/big");
    AUTO_FD int fd = open(path, O_RDWR);

    return fd < 0 ? -1 : change(fd);
}

static int overwrite(int fd)
{
    return pwrite(fd, "x", 1, 0) == 1 ? 0 : -1;
}

static int grow(int fd)
{
    return pwrite(fd, "x", 1, BIG_BYTES) == 1 ? 0 : -1;
}

static int shrink(int fd)
{
    return ftruncate(fd, 65536);
}

static int overwrite_big(void)
{
    return with_big(overwrite);
}

static int grow_big(void)
{
    return with_big(grow);
}

static int shrink_big(void)
{
    return with_big(shrink);
}

/* The mtime can be set back, the ctime not. */
static int overwrite_and_hide(void)
{
    AUTO_FREE char *path = in_root("d/big");
    struct stat before;

    if (stat(path, &before) < 0 || with_big(overwrite) < 0)
        return -1;
    return utimensat(AT_FDCWD, path, (const struct timespec[]){before.st_atim, before.st_mtim}, 0);
}

static void a_file_that_changes_is_refused(void **state)
{
    static const struct {
        int (*change)(void);
        const char *message;
    } cases[] = {{overwrite_big, "in/big: it changed while it was read"},
        {grow_big, "in/big: it changed while it was read"},
        {shrink_big, "in/big: it became shorter while it was read"},
        {overwrite_and_hide, "in/big: it changed while it was read"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        make_directory("d");
        make_big_file("d/big");
        add_input("in", "d");
        refuse_change(cases[i].change, cases[i].message);
    }
}

/* d/next was listed, and is opened after d/big. */
static int next_becomes_a_link(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path) < 0 ? -1 : symlink("../secret", path);
}

static int next_becomes_a_fifo(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path) < 0 ? -1 : mkfifo(path, 0644);
}

static int next_vanishes(void)
{
    AUTO_FREE char *path = in_root("d/next");

    return unlink(path);
}

static int another_appears(void)
{
    AUTO_FREE char *path = in_root("d/new");

    return mkdir(path, 0755);
}

static void an_entry_that_is_replaced_is_refused(void **state)
{
    static const struct {
        int (*change)(void);
        uint32_t follow;
        const char *message;
    } cases[] = {{next_becomes_a_link, 0, "in/next: it is a symbolic link"},
        {next_becomes_a_link, 1, "in/next: it is a symbolic link that leads out"},
        {next_becomes_a_fifo, 0, "in/next: it is a FIFO"},
        {next_vanishes, 0, "in/next: cannot open it: No such file"},
        {another_appears, 0, "in: it changed while it was read"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        make_file("secret", "secret", 0644);
        make_directory("d");
        make_big_file("d/big");
        make_file("d/next", "next", 0644);
        add_input("in", "d");
        config.input_follow = cases[i].follow;
        refuse_change(cases[i].change, cases[i].message);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(files_come_with_parents_and_plain_modes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(directories_are_walked_in_byte_order, set_up, tear_down),
    cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(links_and_devices_are_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_tree_that_is_too_deep_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(links_are_followed_within, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_link_upwards_is_not_followed_for_ever, set_up, tear_down),
    cmocka_unit_test_setup_teardown(caps, set_up, tear_down),
    cmocka_unit_test_setup_teardown(names_of_any_bytes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_file_that_changes_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(an_entry_that_is_replaced_is_refused, set_up, tear_down),
};

UNIT_MAIN(tests)
