/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribe_test.c: the whole scribe in a child process with the fds of ipc.h: what is logged, what is
 * shown, what the supervisor hears, and that no reader and no disk can hold up the pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "ipc/ipc.h"
#include "scribe/live.h"
#include "scribe/powers.h"
#include "scribe/scribe.h"
#include "tests/unit/no_jail.h"
#include "tests/unit/unit.h"

enum { BIG = 1 << 20 };

static struct {
    pid_t child;
    int ipc;
    int in[STREAM_COUNT]; /* write ends */
    int log[STREAM_COUNT];
    int live[STREAM_COUNT]; /* read ends */
} rig;

static uint8_t big[BIG], shown[2 * BIG];

/* FDS are those of the child, in order from IPC_FD on. */
static void become_scribe(const int *fds, int count)
{
    struct err err = ERR_INIT;
    int high[16];

    for (int i = 0; i < count; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
    for (int i = 0; i < count; i++)
        dup2(high[i], IPC_FD + i);
    close_range(IPC_FD + (unsigned int)count, ~0U, 0);
    _exit(scribe_run(&err) == 0 && no_jail_sealed_with(&scribe_powers) ? 0 : 1);
}

/* UNUSED streams are /dev/null all the way, as the console is without --console. */
static void start(const char *log_path, unsigned int unused)
{
    int fds[1 + 3 * STREAM_COUNT];
    struct err err = ERR_INIT;
    int channel[2];

    assert_int_equal(ipc_channel(channel, &err), 0);
    rig.ipc = channel[0];
    fds[0] = channel[1];
    for (int i = 0; i < STREAM_COUNT; i++) {
        int in[2], live[2];

        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(live, O_CLOEXEC), 0);
        if (unused & 1U << i) {
            close(in[0]);
            close(live[1]);
            in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
            live[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        }
        rig.in[i] = in[1];
        rig.live[i] = live[0];
        rig.log[i] =
            log_path ? open(log_path, O_RDWR | O_CLOEXEC) : memfd_create("log", MFD_CLOEXEC);
        assert_true(rig.log[i] >= 0 && in[0] >= 0 && live[1] >= 0);
        fds[1 + i] = in[0];
        fds[1 + STREAM_COUNT + i] = rig.log[i];
        fds[1 + 2 * STREAM_COUNT + i] = live[1];
    }
    rig.child = fork();
    assert_true(rig.child >= 0);
    if (rig.child == 0)
        become_scribe(fds, 1 + 3 * STREAM_COUNT);
    fd_close(&fds[0]);
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&fds[1 + i]);
        fd_close(&fds[1 + 2 * STREAM_COUNT + i]);
    }
}

static void set_up_scribe(uint64_t cap, uint32_t form)
{
    const struct ipc_scribe setup = {.cap_bytes = {cap, cap, cap}, .live_form = {form, form, form}};
    struct err err = ERR_INIT;

    assert_int_equal(ipc_send_scribe(rig.ipc, &setup, &err), 0);
}

static void end_streams(void)
{
    for (int i = 0; i < STREAM_COUNT; i++)
        fd_close(&rig.in[i]);
}

static void expect_totals(struct ipc_stream_totals totals[STREAM_COUNT])
{
    unsigned int seen = 0;

    for (int i = 0; i < STREAM_COUNT; i++) {
        struct ipc_stream_totals one;
        struct ipc_record record;
        struct err err = ERR_INIT;

        assert_int_equal(ipc_receive(rig.ipc, &record, &err), 1);
        assert_int_equal(ipc_get_stream(&record, &one, &err), 0);
        assert_false(seen & 1U << one.stream);
        seen |= 1U << one.stream;
        totals[one.stream] = one;
    }
}

static void expect_exit(int code)
{
    int status = -1;

    assert_int_equal(waitpid(rig.child, &status, 0), rig.child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    rig.child = 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (rig.child > 0) {
        kill(rig.child, SIGKILL);
        waitpid(rig.child, NULL, 0);
    }
    fd_close(&rig.ipc);
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&rig.in[i]);
        fd_close(&rig.log[i]);
        fd_close(&rig.live[i]);
    }
    memset(&rig, 0, sizeof(rig));
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (uint8_t)(i * 2654435761U >> 11);
    return 0;
}

static void expect_log(int id, const void *bytes, size_t size)
{
    static uint8_t there[BIG + 1];

    assert_int_equal(fd_pread_all(rig.log[id], there, sizeof(there), 0), size);
    assert_memory_equal(there, bytes, size);
}

static void expect_live(int id, const char *text)
{
    ssize_t count = fd_read_all(rig.live[id], shown, sizeof(shown));

    assert_int_equal(count, strlen(text));
    assert_memory_equal(shown, text, (size_t)count);
}

static void streams_are_logged_raw_and_shown_escaped(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];
    static const uint8_t hello_sha256[4] = {0x58, 0x91, 0xb5, 0xb5};

    (void)state;
    start(NULL, 0);
    set_up_scribe(1000, LIVE_ESCAPED);
    assert_int_equal(fd_write_all(rig.in[0], "hello\n", 6), 0);
    assert_int_equal(fd_write_all(rig.in[1], "\x1b[1m\xc3", 5), 0);
    assert_int_equal(fd_write_all(rig.in[2], "", 0), 0);
    end_streams();
    expect_totals(totals);
    expect_live(0, "hello\n");
    expect_live(1, "\\x1b[1m\\xc3");
    expect_live(2, "");
    expect_exit(0);
    expect_log(0, "hello\n", 6);
    expect_log(1, "\x1b[1m\xc3", 5);
    assert_true(totals[0].total_bytes == 6 && totals[0].kept_bytes == 6 && totals[0].error == 0);
    assert_memory_equal(totals[0].sha256, hello_sha256, 4);
    assert_true(totals[1].total_bytes == 5 && totals[2].total_bytes == 0);
}

/* Output arrives while the task runs, not at its end. */
static void output_is_shown_at_once(void **state)
{
    char text[3];

    (void)state;
    start(NULL, 0);
    set_up_scribe(1000, LIVE_RAW);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fd_write_all(rig.in[0], "abc", 3), 0);
        assert_int_equal(fd_read_all(rig.live[0], text, 3), 3);
        assert_memory_equal(text, "abc", 3);
    }
    end_streams();
    expect_exit(0);
}

/* Nobody reads the live pipes until all logs are final: then everything that is kept is still
 * shown. */
static void a_reader_that_stands_still_holds_up_nothing(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];
    uint64_t cap = BIG / 2, head = cap - cap / 4;
    const uint8_t *after;
    size_t count;

    (void)state;
    start(NULL, 0);
    set_up_scribe(cap, LIVE_RAW);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fd_write_all(rig.in[i], big, sizeof(big)), 0);
    end_streams();
    expect_totals(totals);
    assert_true(totals[0].total_bytes == BIG && totals[0].kept_bytes == cap);
    for (int i = 0; i < 2; i++) {
        count = (size_t)fd_read_all(rig.live[i], shown, sizeof(shown));
        assert_memory_equal(shown, big, head);
        after = memmem(shown + head, count - head, "ended]\n", 7);
        assert_non_null(after);
        after += 7;
        assert_int_equal(shown + count - after, cap / 4);
        assert_memory_equal(after, big + BIG - cap / 4, cap / 4);
        assert_null(memmem(after, cap / 4, "[vmrun: ", 8)); /* one marker */
    }
    expect_exit(0);
}

/* The last bytes that are read back are the beginning of a character, after the log is final. */
static void the_beginning_of_a_character_is_shown_too(void **state)
{
    static const char beginning[] = "\xe4\xb8";
    struct ipc_stream_totals totals[STREAM_COUNT];
    size_t size = 8 * LIVE_CHUNK_BYTES; /* more than the live pipe takes */

    (void)state;
    start(NULL, 0);
    set_up_scribe(BIG, LIVE_ESCAPED);
    memset(big, 'a', size);
    memcpy(big + size, beginning, 2);
    assert_int_equal(fd_write_all(rig.in[0], big, size + 2), 0);
    end_streams();
    expect_totals(totals);
    assert_int_equal(fd_read_all(rig.live[0], shown, sizeof(shown)), size + 8);
    assert_memory_equal(shown + size, "\\xe4\\xb8", 8);
    expect_exit(0);
}

static void output_can_be_shown_as_events(void **state)
{
    (void)state;
    start(NULL, 0);
    set_up_scribe(8, LIVE_EVENTS);
    assert_int_equal(fd_write_all(rig.in[0], "0123456789", 10), 0);
    assert_int_equal(fd_write_all(rig.in[1], "a\xff", 2), 0);
    end_streams();
    expect_live(0, "\"text\":\"012345\"\n\"cut\":true\n\"text\":\"89\"\n");
    expect_live(1, "\"b64\":\"Yf8=\"\n");
    expect_exit(0);
}

static void a_whole_stream_is_shown_exactly(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];

    (void)state;
    start(NULL, 0);
    set_up_scribe(BIG, LIVE_RAW);
    assert_int_equal(fd_write_all(rig.in[1], big, sizeof(big)), 0);
    end_streams();
    expect_totals(totals);
    assert_int_equal(fd_read_all(rig.live[1], shown, sizeof(shown)), sizeof(big));
    assert_memory_equal(shown, big, sizeof(big));
    expect_exit(0);
    expect_log(1, big, sizeof(big));
}

static void a_reader_that_is_gone_ends_the_live_copy_only(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];

    (void)state;
    start(NULL, 0);
    fd_close(&rig.live[0]);
    set_up_scribe(BIG, LIVE_ESCAPED);
    assert_int_equal(fd_write_all(rig.in[0], big, sizeof(big)), 0);
    assert_int_equal(fd_write_all(rig.in[1], "x", 1), 0);
    end_streams();
    expect_totals(totals);
    expect_live(1, "x");
    expect_exit(0);
    expect_log(0, big, sizeof(big));
}

static void a_reader_that_goes_while_it_is_waited_for(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];

    (void)state;
    start(NULL, 0);
    set_up_scribe(BIG, LIVE_ESCAPED);
    assert_int_equal(fd_write_all(rig.in[0], big, sizeof(big)), 0);
    end_streams();
    expect_totals(totals);
    fd_close(&rig.live[0]);
    expect_exit(0);
    expect_log(0, big, sizeof(big));
}

static void a_full_disk_is_reported_and_the_pipe_drained(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];

    (void)state;
    start("/dev/full", 0);
    set_up_scribe(BIG, LIVE_RAW);
    assert_int_equal(fd_write_all(rig.in[0], big, sizeof(big)), 0);
    end_streams();
    expect_totals(totals);
    assert_true(totals[0].total_bytes == BIG && totals[0].kept_bytes == 0);
    assert_int_equal(totals[0].error, ENOSPC);
    assert_int_equal(totals[1].error, 0);
    expect_live(0, "\n[vmrun: the log of stdout cannot be written (No space left on device); the "
                   "rest is not shown]\n");
    expect_exit(0);
}

static void unused_streams_are_null_devices(void **state)
{
    struct ipc_stream_totals totals[STREAM_COUNT];

    (void)state;
    start(NULL, 1U << STREAM_CONSOLE);
    set_up_scribe(100, LIVE_RAW);
    assert_int_equal(fd_write_all(rig.in[0], "x", 1), 0);
    end_streams();
    expect_totals(totals);
    assert_true(totals[STREAM_CONSOLE].total_bytes == 0 && totals[0].total_bytes == 1);
    expect_exit(0);
    tear_down(NULL);
    start(NULL, (1U << STREAM_COUNT) - 1);
    set_up_scribe(100, LIVE_RAW);
    expect_totals(totals);
    expect_exit(0);
}

static void it_ends_with_the_supervisor(void **state)
{
    (void)state;
    start(NULL, 0);
    set_up_scribe(100, LIVE_RAW);
    assert_int_equal(fd_write_all(rig.in[0], "x", 1), 0);
    fd_close(&rig.ipc);
    expect_exit(1); /* although its pipes are open */
    tear_down(NULL);
    start(NULL, 0);
    fd_close(&rig.ipc);
    expect_exit(1);
}

/* No byte of a stream is read before the setup. */
static void it_waits_for_its_setup(void **state)
{
    struct pollfd poll_live;
    struct err err = ERR_INIT;

    (void)state;
    start(NULL, 0);
    assert_int_equal(fd_write_all(rig.in[0], "x", 1), 0);
    poll_live = (struct pollfd){.fd = rig.live[0], .events = POLLIN};
    assert_int_equal(poll(&poll_live, 1, 50), 0);
    assert_int_equal(ipc_send_plain(rig.ipc, IPC_HALT, &err), 0);
    expect_exit(1);
}

#define SCRIBE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    SCRIBE_TEST(streams_are_logged_raw_and_shown_escaped),
    SCRIBE_TEST(output_is_shown_at_once),
    SCRIBE_TEST(a_reader_that_stands_still_holds_up_nothing),
    SCRIBE_TEST(the_beginning_of_a_character_is_shown_too),
    SCRIBE_TEST(output_can_be_shown_as_events),
    SCRIBE_TEST(a_whole_stream_is_shown_exactly),
    SCRIBE_TEST(a_reader_that_is_gone_ends_the_live_copy_only),
    SCRIBE_TEST(a_reader_that_goes_while_it_is_waited_for),
    SCRIBE_TEST(a_full_disk_is_reported_and_the_pipe_drained),
    SCRIBE_TEST(unused_streams_are_null_devices),
    SCRIBE_TEST(it_ends_with_the_supervisor),
    SCRIBE_TEST(it_waits_for_its_setup),
};

UNIT_MAIN(tests)
