/* SPDX-License-Identifier: Apache-2.0 */
/* log_test.c: head and tail of streams of any length in writes of any size; failing files. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"
#include "scribe/log.h"
#include "tests/unit/unit.h"

enum { STREAM_MAX = 300000 };

static uint8_t stream[STREAM_MAX];
static struct log file_log;

static int set_up(void **state)
{
    int fd = memfd_create("log", MFD_CLOEXEC);

    (void)state;
    for (size_t i = 0; i < sizeof(stream); i++)
        stream[i] = (uint8_t)(i * 2654435761U >> 13);
    log_init(&file_log, fd, 0);
    return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(file_log.fd);
    return 0;
}

/* An empty log of CAP bytes in the file of the one before. */
static void restart(uint64_t cap)
{
    int fd = file_log.fd;

    assert_int_equal(ftruncate(fd, 0), 0);
    log_init(&file_log, fd, cap);
}

static void append(size_t total, size_t step)
{
    for (size_t at = 0; at < total; at += step)
        log_append(&file_log, stream + at, size_min(step, total - at));
}

/* What must be in the file for TOTAL bytes of stream; returns its length. */
static size_t expect(size_t cap, size_t total, uint8_t *bytes)
{
    size_t tail = cap / 4;

    if (total <= cap) {
        memcpy(bytes, stream, total);
        return total;
    }
    memcpy(bytes, stream, cap - tail);
    memcpy(bytes + cap - tail, stream + total - tail, tail);
    return cap;
}

static void finish_and_compare(size_t total)
{
    static uint8_t right[STREAM_MAX], there[STREAM_MAX + 1];
    uint8_t digest[LOG_DIGEST_BYTES], right_digest[LOG_DIGEST_BYTES];
    size_t kept = expect(file_log.cap_bytes, total, right);

    log_finish(&file_log, digest);
    assert_int_equal(file_log.error, 0);
    assert_true(file_log.total_bytes == total);
    assert_true(log_kept_bytes(&file_log) == kept);
    assert_int_equal(log_is_cut(&file_log), kept < total);
    assert_int_equal(pread(file_log.fd, there, sizeof(there), 0), kept);
    assert_memory_equal(there, right, kept);
    SHA256(right, kept, right_digest);
    assert_memory_equal(digest, right_digest, sizeof(digest));
}

static void head_and_tail_of_small_streams(void **state)
{
    static const size_t steps[] = {1, 3, 7, 64};

    (void)state;
    for (size_t cap = 0; cap <= 21; cap++) {
        for (size_t total = 0; total <= 60; total++) {
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                restart(cap);
                append(total, steps[i]);
                finish_and_compare(total);
            }
        }
    }
}

/* Rings larger than the block that the turn works with, at every kind of start of the ring. */
static void head_and_tail_of_large_streams(void **state)
{
    static const size_t caps[] = {200000, 131072, 299999};
    static const size_t totals[] = {131071, 131072, 131073, 199999, 200000, 200001, 249999, 250000,
        250001, 299998, 299999, 300000};
    static const size_t steps[] = {997, 65536};

    (void)state;
    for (size_t c = 0; c < sizeof(caps) / sizeof(caps[0]); c++) {
        for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
            for (size_t s = 0; s < 2; s++) {
                restart(caps[c]);
                append(totals[t], steps[s]);
                finish_and_compare(totals[t]);
            }
        }
    }
}

static void the_file_never_grows_past_its_cap(void **state)
{
    (void)state;
    restart(1000);
    for (int i = 0; i < 50; i++) {
        append(5000, 64);
        assert_true(lseek(file_log.fd, 0, SEEK_END) <= 1000);
    }
    assert_true(file_log.total_bytes == 50 * 5000);
}

/* Everything from POSITION on that can be read now. */
static size_t read_on(uint64_t *position, uint8_t *to)
{
    size_t used = 0;
    size_t count;

    while ((count = log_read(&file_log, position, to + used, 37)) > 0)
        used += count;
    return used;
}

static void a_reader_follows_what_is_there_for_good(void **state)
{
    uint8_t read[400], digest[LOG_DIGEST_BYTES];
    uint64_t fast = 0, slow = 0;

    (void)state;
    restart(100); /* 75 head, 25 tail */
    log_append(&file_log, stream, 90);
    assert_int_equal(read_on(&fast, read), 90);
    assert_memory_equal(read, stream, 90);
    log_append(&file_log, stream + 90, 30);
    assert_int_equal(read_on(&fast, read), 0); /* the ring has begun to turn */
    assert_int_equal(read_on(&slow, read), 75);
    assert_memory_equal(read, stream, 75);
    log_finish(&file_log, digest);
    assert_int_equal(read_on(&fast, read), 25); /* 95 to 120: bytes 90 to 95 are lost */
    assert_memory_equal(read, stream + 95, 25);
    assert_int_equal(read_on(&slow, read), 25);
    assert_memory_equal(read, stream + 95, 25);
    assert_true(fast == 120 && slow == 120);
    restart(100);
    log_append(&file_log, stream, 100);
    fast = 0;
    assert_int_equal(read_on(&fast, read), 100);
    log_append(&file_log, stream + 100, 10);
    log_finish(&file_log, digest);
    assert_int_equal(read_on(&fast, read), 10); /* nothing is lost for who was fast enough */
    assert_memory_equal(read, stream + 100, 10);
}

/* A file that may not grow past 50 bytes stands for a full disk. */
static void a_full_disk_keeps_what_fits(void **state)
{
    struct rlimit kept, small;
    uint8_t digest[LOG_DIGEST_BYTES], right[LOG_DIGEST_BYTES], there[200];

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    small = (struct rlimit){.rlim_cur = 50, .rlim_max = kept.rlim_max};
    for (size_t step = 1; step < 100; step += 7) {
        restart(1000);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        append(200, step);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
        append(200, step);
        assert_int_equal(file_log.error, EFBIG);
        log_finish(&file_log, digest);
        assert_int_equal(file_log.error, EFBIG);
        assert_true(file_log.total_bytes == 400 && log_kept_bytes(&file_log) == 50);
        assert_true(log_is_cut(&file_log) && log_gap_bytes(&file_log) == 50);
        assert_int_equal(pread(file_log.fd, there, sizeof(there), 0), 50);
        assert_memory_equal(there, stream, 50);
        SHA256(stream, 50, right);
        assert_memory_equal(digest, right, sizeof(digest));
    }
}

static void a_file_that_cannot_be_written_or_read(void **state)
{
    static const uint8_t zeros[LOG_DIGEST_BYTES];
    uint8_t digest[LOG_DIGEST_BYTES];
    int fd = file_log.fd;

    (void)state;
    restart(100);
    file_log.fd = -1;
    log_append(&file_log, stream, 10);
    assert_int_equal(file_log.error, EBADF);
    file_log.fd = fd;
    log_finish(&file_log, digest);
    assert_true(file_log.total_bytes == 10 && log_kept_bytes(&file_log) == 0);
    restart(100);
    log_append(&file_log, stream, 100);
    file_log.fd = -1;
    log_finish(&file_log, digest); /* the tail cannot be read back */
    file_log.fd = fd;
    assert_int_equal(file_log.error, EBADF);
    assert_memory_equal(digest, zeros, sizeof(zeros));
}

/* The ring keeps its order when it stops turning: what is there is a piece of the stream. */
static void a_disk_that_fails_while_the_ring_turns(void **state)
{
    uint8_t digest[LOG_DIGEST_BYTES], there[101];
    int fd = file_log.fd;

    (void)state;
    for (size_t more = 1; more < 120; more++) {
        restart(100); /* 75 head, 25 tail */
        log_append(&file_log, stream, 120);
        file_log.fd = -1;
        log_append(&file_log, stream + 120, more);
        file_log.fd = fd;
        log_finish(&file_log, digest);
        assert_int_equal(file_log.error, EBADF);
        assert_true(file_log.total_bytes == 120 + more);
        assert_int_equal(pread(fd, there, sizeof(there), 0), 100);
        assert_memory_equal(there, stream, 75);
        assert_memory_equal(there + 75, stream + 95, 25);
    }
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    LOG_TEST(head_and_tail_of_small_streams),
    LOG_TEST(head_and_tail_of_large_streams),
    LOG_TEST(the_file_never_grows_past_its_cap),
    LOG_TEST(a_reader_follows_what_is_there_for_good),
    LOG_TEST(a_full_disk_keeps_what_fits),
    LOG_TEST(a_file_that_cannot_be_written_or_read),
    LOG_TEST(a_disk_that_fails_while_the_ring_turns),
};

UNIT_MAIN(tests)
