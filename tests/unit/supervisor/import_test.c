/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: vmm/supervisor/import.c vmm/supervisor/text_list.c vmm/wire/archive.c vmm/base/cursor.c */
/* LINK: vmm/base/err.c vmm/base/fd.c */
/* import_test.c: inputs are packed whole, sorted and sparse; what is not a plain file is refused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    assert_refused("in/fifo: it is neither a regular file nor a directory");
}

static void a_tree_that_is_too_deep_is_refused(void **state)
{
    char name[512] = "d";
    uint64_t bytes;

    (void)state;
    make_directory(name);
    for (int i = 0; i < IMPORT_DEPTH_MAX; i++) {
        strcat(name, "/d");
        make_directory(name);
    }
    add_input("in", "d");
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), 0);
    strcat(name, "/d");
    make_directory(name);
    assert_refused("more than 64 directories deep");
}

/* The archive goes into a pipe; its reader changes the source when the first bytes arrive. */
static void a_file_that_changes_is_refused(void **state)
{
    AUTO_FREE char *path = in_root("big");
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT, 0644);
    static char filler[65536] = "filler";
    int ends[2];
    pid_t child;

    (void)state;
    assert_true(fd >= 0);
    for (int i = 0; i < 64; i++) /* written, not allocated: that would be holes */
        assert_int_equal(fd_pwrite_all(fd, filler, sizeof(filler), (uint64_t)i * 65536), 0);
    assert_int_equal(pipe(ends), 0);
    add_input("big", "big");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char block[65536];

        close(ends[1]);
        if (read(ends[0], block, 1) != 1)
            _exit(1);
        usleep(50000); /* times of files are only as fine as the kernel's tick */
        if (pwrite(fd, "x", 1, 0) != 1)
            _exit(1);
        while (read(ends[0], block, sizeof(block)) > 0)
            continue;
        _exit(0);
    }
    close(ends[0]);
    fd_close(&archive);
    archive = ends[1];
    assert_refused("it changed while it was read");
    fd_close(&archive);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(files_come_with_parents_and_plain_modes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(directories_are_walked_in_byte_order, set_up, tear_down),
    cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(links_and_devices_are_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_tree_that_is_too_deep_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_file_that_changes_is_refused, set_up, tear_down),
};

UNIT_MAIN(tests)
