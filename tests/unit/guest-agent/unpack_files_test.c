/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -lz */
/* unpack_files_test.c: an archive becomes files beneath a directory, within limits, or an error. */
#include <errno.h>
#include <sys/mman.h>
#include <zlib.h>

#include "guest-agent/unpack_child.h"
#include "tests/unit/guest-agent/tar_build.h"
#include "tests/unit/guest-agent/tree.h"

static struct tree tree;
static struct tree outside;
static struct tar_build build;
static struct tar_limits limits;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_make(&outside);
    build.used = 0;
    limits = (struct tar_limits){.bytes = 1 << 20, .entries = 100, .depth = 16};
    err = (struct err)ERR_INIT;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(&tree);
    tree_remove(&outside);
    return 0;
}

static int unpack_bytes(const void *bytes, size_t size)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);
    int result;

    assert_int_equal(fd_pwrite_all(fd, bytes, size, 0), 0);
    result = unpack_archive(fd, tree.fd, &limits, &err);
    fd_close(&fd);
    return result;
}

static int unpack(void)
{
    tar_build_end(&build);
    return unpack_bytes(build.bytes, build.used);
}

static void accept(void)
{
    if (unpack() < 0)
        fail_msg("%s", err.text);
}

static void refuse(const char *words)
{
    assert_int_equal(unpack(), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" lacks \"%s\"", err.text, words);
}

static void expect_file(const char *path, mode_t mode, const char *content)
{
    char back[4096];
    struct stat status;
    int fd = openat(tree.fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
    assert_int_equal(fd_read_all(fd, back, sizeof(back)), strlen(content));
    assert_memory_equal(back, content, strlen(content));
    fd_close(&fd);
}

static void files_directories_and_links(void **state)
{
    char target[64] = "";
    struct stat first, second;

    (void)state;
    tar_build_entry(&build, '5', "./", "", 0755, "", 0);
    tar_build_entry(&build, '5', "d/", "", 0700, "", 0);
    tar_build_file(&build, "./d//f", "hello");
    tar_build_entry(&build, '0', "run", "", 06711, "#!", 2);
    tar_build_entry(&build, '2', "s", "../../etc/passwd", 0777, "", 0);
    tar_build_entry(&build, '1', "h", "./d/f", 0644, "", 0);
    tar_build_entry(&build, '5', "d", "", 0755, "", 0); /* again is no harm */
    tar_build_file(&build, "made/by/itself", "x");      /* no entry names its directories */
    accept();
    expect_file("d/f", 0644, "hello");
    expect_file("run", 0755, "#!");
    expect_file("made/by/itself", 0644, "x");
    assert_int_equal(readlinkat(tree.fd, "s", target, sizeof(target) - 1), 16);
    assert_string_equal(target, "../../etc/passwd");
    assert_int_equal(fstatat(tree.fd, "d/f", &first, 0), 0);
    assert_int_equal(fstatat(tree.fd, "h", &second, 0), 0);
    assert_int_equal(first.st_ino, second.st_ino);
}

static void long_names(void **state)
{
    char name[301], pax[400];
    int length;

    (void)state;
    memset(name, 'n', 300);
    name[300] = '\0';
    name[150] = '/';
    tar_build_entry(&build, 'L', "././@LongLink", "", 0, name, sizeof(name));
    tar_build_file(&build, "short", "gnu");
    name[150] = '-';
    name[50] = name[200] = '/';
    length = snprintf(pax, sizeof(pax), "310 path=%s\n", name);
    assert_int_equal(length, 310);
    tar_build_entry(&build, 'x', "pax", "", 0, pax, 310);
    tar_build_file(&build, "short", "pax");
    memcpy(tar_build_entry(&build, '0', "base", "", 0644, "ustar", 5) + 345, "prefix", 6);
    tar_build_sum(build.bytes + build.used - 1024);
    accept();
    expect_file(name, 0644, "pax");
    name[50] = name[200] = 'n';
    name[150] = '/';
    expect_file(name, 0644, "gnu");
    expect_file("prefix/base", 0644, "ustar");
}

/* Each in a fresh archive behind a good file. */
static void entries_that_are_refused(void **state)
{
    static const struct {
        char type;
        const char *name, *link, *words;
    } cases[] = {/* names that lead out */
        {'0', "../f", "", "f: it leads upwards"}, {'0', "d/../../f", "", "it leads upwards"},
        {'5', "..", "", "it leads upwards"}, {'0', "/f", "", "/f: it is an absolute path"},
        {'1', "h", "../f", "h: it is a link out of the archive"},
        {'1', "h", "/etc/passwd", "h: it is a link out of the archive"},
        {'1', "h", "", "h: it is a link to nothing"},
        {'1', "h", "nowhere", "h: cannot make it: No such file"},
        {'2', "s", "", "s: it is a link to nothing"}, {'0', "", "", "has no name"},
        {'0', ".", "", "has no name"},
        /* kinds that cannot be unpacked */
        {'3', "zero", "", "zero: it is a device or a FIFO"}, {'4', "disk", "", "it is a device"},
        {'6', "fifo", "", "fifo: it is a device or a FIFO"},
        {'S', "sparse", "", "sparse: it is of a kind that cannot be unpacked"},
        {'Q', "new", "", "it is of a kind"},
        /* what is there already */
        {'0', "good", "", "good: it is in the archive twice"},
        {'5', "good", "", "good: it lies below, or replaces, what is no directory"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        tar_build_file(&build, "good", "x");
        tar_build_entry(&build, cases[i].type, cases[i].name, cases[i].link, 0644, "", 0);
        refuse(cases[i].words);
    }
}

/* Not even to a place inside: what it leads to may change. */
static void nothing_goes_through_a_link(void **state)
{
    (void)state;
    tar_build_entry(&build, '2', "out", outside.path, 0777, "", 0);
    tar_build_file(&build, "out/f", "x");
    refuse("out/f: it lies below, or replaces, what is no directory");
    assert_int_equal(faccessat(outside.fd, "f", F_OK, 0), -1);
    tear_down(state);
    set_up(state);
    tar_build_file(&build, "d/f", "x");
    tar_build_entry(&build, '2', "l", "d", 0777, "", 0);
    tar_build_entry(&build, '1', "h", "l/f", 0777, "", 0);
    refuse("h: it lies below, or replaces, what is no directory");
    tear_down(state);
    set_up(state);
    tar_build_entry(&build, '2', "l", "nowhere", 0777, "", 0);
    tar_build_file(&build, "l", "x"); /* would make "nowhere" */
    refuse("l: it is in the archive twice");
    assert_int_equal(faccessat(tree.fd, "nowhere", F_OK, 0), -1);
}

static void limits_hold(void **state)
{
    (void)state;
    limits = (struct tar_limits){.bytes = 10, .entries = 3, .depth = 2};
    tar_build_file(&build, "a", "12345");
    tar_build_file(&build, "d/b", "67890");
    tar_build_file(&build, "c", "");
    accept();
    tear_down(state);
    set_up(state);
    limits.bytes = 10;
    tar_build_file(&build, "a", "12345");
    tar_build_file(&build, "b", "678901");
    refuse("b: with it the archive unpacks to more than [input_options] max_total");
    tear_down(state);
    set_up(state);
    limits.entries = 2;
    tar_build_file(&build, "a", "");
    tar_build_file(&build, "b", "");
    tar_build_file(&build, "c", "");
    refuse("c: the archive has more files and directories than [input_options] max_files");
    tear_down(state);
    set_up(state);
    limits.depth = 2;
    tar_build_file(&build, "a/b/c", "");
    refuse("a/b/c: more directories deep than [input_options] max_depth");
    tear_down(state);
    set_up(state);
    limits.entries = 2; /* directories that nothing names count too */
    tar_build_file(&build, "a/b/c/d", "");
    refuse("a/b/c/d: cannot make it");
}

static void archives_that_are_damaged(void **state)
{
    tar_build_file(&build, "f", "x");
    assert_int_equal(unpack_bytes(build.bytes, build.used), -1); /* no end mark */
    assert_string_equal(err.text, "the archive is cut short");
    tear_down(state);
    set_up(state);
    tar_build_file(&build, "f", "x");
    assert_int_equal(unpack_bytes(build.bytes, build.used + 512), -1); /* half of one */
    tear_down(state);
    set_up(state);
    tar_build_entry(&build, '0', "f", "", 0644, "", 0)[0] = 'g';
    refuse("a header has a wrong checksum");
    tear_down(state);
    set_up(state);
    memset(tar_build_entry(&build, '0', "f", "", 0644, "", 0) + 124, '9', 11);
    tar_build_sum(build.bytes);
    refuse("a size is not a number");
    tear_down(state);
    set_up(state);
    memset(tar_build_entry(&build, '0', "f", "", 0644, "", 0) + 124, 0xff, 12); /* negative */
    tar_build_sum(build.bytes);
    refuse("a size is not a number");
    tear_down(state);
    set_up(state);
    for (int i = 0; i <= TAR_META_MAX_COUNT; i++)
        tar_build_entry(&build, 'x', "pax", "", 0, "12 comment=\n", 12);
    tar_build_file(&build, "f", "x");
    refuse("too many headers before an entry");
}

static void pax_headers_that_are_wrong(void **state)
{
    static const struct {
        char type;
        const char *text;
        const char *words;
    } cases[] = {{'x', "9 path=f\n", NULL}, {'x', "11 path=f\n", "malformed"},
        {'x', "8 path=f\n", "malformed"}, {'x', "path=f\n", "malformed"},
        {'x', "99 path=f\n", "malformed"}, {'x', "4 =\n", "malformed"},
        {'x', "7 path\n", "malformed"}, {'x', "8 path=\n", "empty"}, {'x', "9 size=x\n", "size"},
        {'x', "22 GNU.sparse.major=1\n", "sparse files"}, {'g', "14 comment=ab\n", NULL},
        {'g', "9 path=f\n", "one name or size"}, {'x', "13 path=../f\n", "leads upwards"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down(state);
        set_up(state);
        tar_build_entry(&build, cases[i].type, "pax", "", 0, cases[i].text, strlen(cases[i].text));
        tar_build_file(&build, "name", "x");
        if (cases[i].words)
            refuse(cases[i].words);
        else
            accept();
    }
}

/* ---- gzip -------------------------------------------------------------------------------------
 */

static uint8_t packed[1 << 20];

static size_t gzip(const void *bytes, size_t size, uint8_t *to, size_t room)
{
    z_stream stream = {0};

    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = to;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return room - stream.avail_out;
}

static void gzip_files(void **state)
{
    size_t size, half;

    tar_build_file(&build, "f", "hello");
    tar_build_end(&build);
    size = gzip(build.bytes, build.used, packed, sizeof(packed));
    assert_int_equal(unpack_bytes(packed, size), 0);
    expect_file("f", 0644, "hello");
    for (size_t cut = 0; cut < size; cut += 7) {
        tear_down(state);
        set_up(state);
        assert_int_equal(unpack_bytes(packed, cut), -1);
    }
    tear_down(state);
    set_up(state);
    packed[size - 5] ^= 1; /* the checksum, behind the end mark of the archive */
    assert_int_equal(unpack_bytes(packed, size), -1);
    assert_non_null(strstr(err.text, "the gzip file is damaged"));
    /* Members one after the other, as pigz and cat make them. */
    tear_down(state);
    set_up(state);
    tar_build_file(&build, "f", "hello");
    tar_build_end(&build);
    half = gzip(build.bytes, 700, packed, sizeof(packed));
    size = half + gzip(build.bytes + 700, build.used - 700, packed + half, sizeof(packed) - half);
    assert_int_equal(unpack_bytes(packed, size), 0);
    expect_file("f", 0644, "hello");
}

/* 64 MiB of zeroes in some kilobytes: as a file, and behind the end mark. */
static void bombs(void **state)
{
    static uint8_t zeroes[1 << 20], bomb[2 << 20];
    uint8_t *header = tar_build_entry(&build, '0', "bomb", "", 0644, "", 0);
    z_stream stream = {.next_out = bomb, .avail_out = sizeof(bomb)};

    (void)state;
    snprintf((char *)header + 124, 12, "%011o", 1U << 26);
    tar_build_sum(header);
    for (int behind = 0; behind < 2; behind++) {
        assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = header;
        stream.avail_in = behind ? 0 : 512;
        if (!behind)
            assert_int_equal(deflate(&stream, Z_NO_FLUSH), Z_OK);
        for (int i = 0; i < 64; i++) {
            stream.next_in = zeroes;
            stream.avail_in = sizeof(zeroes);
            assert_int_equal(
                deflate(&stream, i < 63 ? Z_NO_FLUSH : Z_FINISH), i < 63 ? Z_OK : Z_STREAM_END);
        }
        deflateEnd(&stream);
        assert_int_equal(unpack_bytes(bomb, sizeof(bomb) - stream.avail_out), -1);
        assert_non_null(strstr(err.text, behind ? "follows the end mark" : "max_total"));
        stream = (z_stream){.next_out = bomb, .avail_out = sizeof(bomb)};
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_directories_and_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(entries_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_goes_through_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(archives_that_are_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pax_headers_that_are_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gzip_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bombs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
