/* SPDX-License-Identifier: Apache-2.0 */
/* extractor_test.c: the whole extractor in a child process with the fds of ipc.h. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "extractor/extractor.h"
#include "extractor/powers.h"
#include "ipc/ipc.h"
#include "tests/unit/extractor/archive_build.h"
#include "tests/unit/extractor/out_dir.h"
#include "tests/unit/no_jail.h"

static struct build build;
static struct out_dir out;
static pid_t child;
static int ipc = -1;
static struct ipc_record record;

static int set_up(void **state)
{
    (void)state;
    build_begin(&build);
    out_dir_make(&out);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fd_close(&ipc);
    if (child > 0)
        waitpid(child, NULL, 0);
    child = 0;
    build_free(&build);
    out_dir_remove(&out);
    return 0;
}

static void become_extractor(int channel, int disk)
{
    const int fds[] = {channel, disk, out.fd};
    struct err err = ERR_INIT;
    int high[3];

    for (int i = 0; i < 3; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
    for (int i = 0; i < 3; i++)
        dup2(high[i], IPC_FD + i);
    close_range(IPC_FD + 3, ~0U, 0);
    umask(077); /* the extractor sets its own */
    _exit(extractor_run(&err) == 0 && no_jail_sealed_with(&extractor_powers) ? 0 : 1);
}

static void start(void)
{
    AUTO_FD int disk = memfd_create("disk", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    int channel[2];

    assert_true(disk >= 0);
    assert_int_equal(fd_write_all(disk, build.bytes, build.size), 0);
    assert_int_equal(ipc_channel(channel, &err), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become_extractor(channel[1], disk);
    close(channel[1]);
    ipc = channel[0];
}

static void send_setup(void)
{
    const struct ipc_extract setup = {
        .max_total_bytes = 1 << 20, .max_file_bytes = 1 << 20, .max_files = 100, .max_depth = 32};
    struct err err = ERR_INIT;

    assert_int_equal(ipc_send_extract(ipc, &setup, &err), 0);
}

static void expect_exit(int code)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    child = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void an_archive_is_extracted_and_reported(void **state)
{
    struct ipc_extracted extracted;
    struct ipc_entry entry;
    struct err err = ERR_INIT;

    (void)state;
    build_dir(&build, "d");
    build_text_file(&build, "d/f", "hello");
    build_end(&build);
    start();
    send_setup();
    assert_int_equal(ipc_receive(ipc, &record, &err), 1);
    assert_int_equal(ipc_get_entry(&record, &entry, &err), 0);
    assert_int_equal(entry.kind, ENTRY_DIR);
    assert_int_equal(ipc_receive(ipc, &record, &err), 1);
    assert_int_equal(ipc_get_entry(&record, &entry, &err), 0);
    assert_true(entry.kind == ENTRY_FILE && entry.size == 5 && entry.name_bytes == 3);
    assert_int_equal(ipc_receive(ipc, &record, &err), 1);
    assert_int_equal(ipc_get_extracted(&record, &extracted, &err), 0);
    assert_int_equal(extracted.status, EXTRACT_COMPLETE);
    assert_int_equal(ipc_receive(ipc, &record, &err), 0);
    expect_exit(0);
    out_dir_expect_dir(&out, "d");
    out_dir_expect_file(&out, "d/f", 0644, "hello", 5);
}

static void a_refusal_is_a_verdict_not_a_failure(void **state)
{
    struct ipc_extracted extracted;
    struct err err = ERR_INIT;

    (void)state;
    start(); /* no end */
    send_setup();
    assert_int_equal(ipc_receive(ipc, &record, &err), 1);
    assert_int_equal(ipc_get_extracted(&record, &extracted, &err), 0);
    assert_int_equal(extracted.status, EXTRACT_REFUSED);
    assert_non_null(strstr(extracted.text, "ends before"));
    expect_exit(0);
}

static void it_waits_for_its_setup(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    build_text_file(&build, "f", "hello");
    build_end(&build);
    start();
    assert_int_equal(ipc_send_plain(ipc, IPC_HALT, &err), 0);
    expect_exit(1);
    assert_int_equal(out_dir_count(&out), 0);
    fd_close(&ipc);
    start();
    fd_close(&ipc);
    expect_exit(1);
    assert_int_equal(out_dir_count(&out), 0);
}

#define EXTRACTOR_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    EXTRACTOR_TEST(an_archive_is_extracted_and_reported),
    EXTRACTOR_TEST(a_refusal_is_a_verdict_not_a_failure),
    EXTRACTOR_TEST(it_waits_for_its_setup),
};

UNIT_MAIN(tests)
