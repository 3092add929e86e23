/* SPDX-License-Identifier: Apache-2.0 */
/* job_read_test.c: a job becomes a value, or is refused with the field that is wrong. */
#include <stdio.h>
#include <string.h>

#include "guest-agent/job_read.h"
#include "tests/unit/unit.h"

static uint8_t bytes[3 << 20];
static struct writer writer;
static struct job job;
static struct err err;

/* A job that is complete but for ARG and what LEFT_OUT names. */
static int set_up(void **state)
{
    (void)state;
    writer = writer_make(bytes, sizeof(bytes));
    err = (struct err)ERR_INIT;
    return 0;
}

static void put_text(enum job_tag tag, const char *text)
{
    job_put_bytes(&writer, tag, text, strlen(text));
}

static void put_rest(enum job_tag left_out)
{
    static const enum job_tag numbers[] = {JOB_UID, JOB_GID, JOB_CLOCK_NS, JOB_WALL_NS,
        JOB_MEMORY_BYTES, JOB_PROCESSES, JOB_OPEN_FILES, JOB_SCRATCH_BYTES, JOB_CPU_NS, JOB_IDLE_NS,
        JOB_INODES, JOB_UNPACK_BYTES, JOB_UNPACK_FILES, JOB_UNPACK_DEPTH};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i] != left_out)
            job_put_number(&writer, numbers[i], 1000 + i);
    }
    if (left_out != JOB_ARG)
        put_text(JOB_ARG, "true");
    if (left_out != JOB_WORKDIR)
        put_text(JOB_WORKDIR, "/task");
}

static int read_job(void)
{
    assert_false(writer.failed);
    return job_read(&job, bytes, writer.used, &err);
}

static void a_whole_job(void **state)
{
    (void)state;
    put_text(JOB_ARG, "sh");
    put_text(JOB_ARG, "");
    put_text(JOB_ENV, "A=1");
    put_text(JOB_ENV, "B=");
    put_text(JOB_COLLECT, "out/chart.png");
    put_text(JOB_COLLECT, ".");
    put_text(JOB_HOSTNAME, "name");
    job_put_number(&writer, JOB_STDIN, 1);
    job_put_number(&writer, JOB_IMPORT, 0);
    job_put_number(&writer, JOB_ROOT_OVERLAY, 1);
    put_rest(JOB_ARG);
    assert_int_equal(read_job(), 0);
    assert_int_equal(job.arg_count, 2);
    assert_string_equal(job.args[0], "sh");
    assert_string_equal(job.args[1], "");
    assert_null(job.args[2]);
    assert_int_equal(job.env_count, 2);
    assert_string_equal(job.envs[0], "A=1");
    assert_string_equal(job.envs[1], "B=");
    assert_null(job.envs[2]);
    assert_int_equal(job.collect_count, 2);
    assert_string_equal(job.collects[0], "out/chart.png");
    assert_string_equal(job.collects[1], ".");
    assert_string_equal(job.hostname, "name");
    assert_string_equal(job.workdir, "/task");
    assert_int_equal(job.uid, 1000);
    assert_int_equal(job.scratch_bytes, 1007);
    assert_true(job.cpu_ns == 1008 && job.idle_ns == 1009 && job.inodes == 1010);
    assert_true(job.stdin_stream && !job.import && job.root_overlay);
}

static void defaults(void **state)
{
    (void)state;
    put_rest(0);
    assert_int_equal(read_job(), 0);
    assert_string_equal(job.hostname, "vmrun");
    assert_int_equal(job.env_count, 0);
    assert_null(job.envs[0]);
    assert_false(job.stdin_stream || job.import || job.root_overlay);
}

static void each_required_field(void **state)
{
    static const enum job_tag required[] = {JOB_ARG, JOB_WORKDIR, JOB_UID, JOB_GID, JOB_CLOCK_NS,
        JOB_WALL_NS, JOB_MEMORY_BYTES, JOB_PROCESSES, JOB_OPEN_FILES, JOB_SCRATCH_BYTES, JOB_CPU_NS,
        JOB_IDLE_NS, JOB_INODES, JOB_UNPACK_BYTES, JOB_UNPACK_FILES, JOB_UNPACK_DEPTH};

    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        char want[64];

        set_up(state);
        put_rest(required[i]);
        assert_int_equal(read_job(), -1);
        snprintf(want, sizeof(want), "the job lacks field %u", (unsigned)required[i]);
        assert_string_equal(err.text, want);
    }
}

static void refuse_number(enum job_tag tag, uint64_t value)
{
    writer = writer_make(bytes, sizeof(bytes));
    put_rest(tag);
    job_put_number(&writer, tag, value);
    assert_int_equal(read_job(), -1);
}

static void refuse_text(enum job_tag tag, const char *text)
{
    writer = writer_make(bytes, sizeof(bytes));
    put_rest(tag);
    put_text(tag, text);
    assert_int_equal(read_job(), -1);
}

static void impossible_values(void **state)
{
    (void)state;
    refuse_number(JOB_WALL_NS, 0);
    refuse_number(JOB_MEMORY_BYTES, 0);
    refuse_number(JOB_PROCESSES, 0);
    refuse_number(JOB_OPEN_FILES, 0);
    refuse_number(JOB_SCRATCH_BYTES, 0);
    refuse_number(JOB_UID, UINT32_MAX);
    refuse_number(JOB_UID, 1ULL << 32);
    refuse_number(JOB_GID, UINT32_MAX);
    refuse_number(JOB_STDIN, 2);
    refuse_text(JOB_WORKDIR, "relative");
    refuse_text(JOB_WORKDIR, "");
    refuse_text(JOB_ENV, "no equals sign");
    refuse_text(JOB_HOSTNAME, "");
    refuse_text(JOB_HOSTNAME, "12345678901234567890123456789012345678901234567890123456789012345");
}

static void ids_at_their_limit(void **state)
{
    (void)state;
    put_rest(JOB_UID);
    job_put_number(&writer, JOB_UID, UINT32_MAX - 1);
    assert_int_equal(read_job(), 0);
    assert_int_equal(job.uid, UINT32_MAX - 1);
}

static void collect_paths(void **state)
{
    static const char *const bad[] = {
        "", "/", "/a", "a/", "a//b", "..", "../a", "a/..", "a/../b", "./a", "a/./b", "a/."};
    static const char *const good[] = {".", "a", "a/b", "...", ".a", "a..", "a/...b"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuse_text(JOB_COLLECT, bad[i]);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        set_up(state);
        put_rest(0);
        put_text(JOB_COLLECT, good[i]);
        assert_int_equal(read_job(), 0);
        assert_string_equal(job.collects[0], good[i]);
    }
}

static void archives_to_unpack(void **state)
{
    (void)state;
    refuse_text(JOB_UNPACK, "../a");
    refuse_text(JOB_UNPACK, "/a");
    refuse_number(JOB_UNPACK_BYTES, 0);
    refuse_number(JOB_UNPACK_FILES, 0);
    refuse_number(JOB_UNPACK_DEPTH, 0);
    set_up(state);
    put_rest(0);
    put_text(JOB_UNPACK, "a/b");
    put_text(JOB_UNPACK, "c");
    assert_int_equal(read_job(), 0);
    assert_int_equal(job.unpack_count, 2);
    assert_string_equal(job.unpacks[0], "a/b");
    assert_string_equal(job.unpacks[1], "c");
    assert_false(job.salvage);
}

static void a_salvage_needs_nothing_else(void **state)
{
    (void)state;
    job_put_number(&writer, JOB_SALVAGE, 1);
    assert_int_equal(read_job(), -1);
    assert_string_equal(err.text, "the job has nothing to salvage");
    set_up(state);
    job_put_number(&writer, JOB_SALVAGE, 1);
    put_text(JOB_COLLECT, "out");
    assert_int_equal(read_job(), 0);
    assert_true(job.salvage && job.collect_count == 1);
    set_up(state);
    put_text(JOB_COLLECT, "out");
    job_put_number(&writer, JOB_SALVAGE, 0);
    assert_int_equal(read_job(), -1); /* an ordinary job, and a part of one */
}

static void counts_at_their_limit(void **state)
{
    for (int extra = 0; extra <= 1; extra++) {
        set_up(state);
        put_rest(JOB_ARG);
        for (int i = 0; i < JOB_ARGS_MAX + extra; i++)
            put_text(JOB_ARG, "x");
        assert_int_equal(read_job(), -extra);
    }
    assert_string_equal(err.text, "field 1 of the job has a value that cannot be");
    for (int extra = 0; extra <= 1; extra++) {
        set_up(state);
        put_rest(0);
        for (int i = 0; i < JOB_COLLECTS_MAX + extra; i++)
            put_text(JOB_COLLECT, "x");
        assert_int_equal(read_job(), -extra);
    }
}

static void strings_at_their_limit(void **state)
{
    static char text[JOB_STRING_MAX_BYTES + 1];

    memset(text, 'x', sizeof(text));
    for (size_t extra = 0; extra <= 1; extra++) {
        set_up(state);
        put_rest(JOB_ARG);
        job_put_bytes(&writer, JOB_ARG, text, JOB_STRING_MAX_BYTES + extra);
        assert_int_equal(read_job(), extra ? -1 : 0);
        set_up(state);
        put_rest(0);
        job_put_bytes(&writer, JOB_COLLECT, text, JOB_PATH_MAX_BYTES + extra);
        assert_int_equal(read_job(), extra ? -1 : 0);
    }
}

static void malformed_fields(void **state)
{
    (void)state;
    put_rest(0);
    job_put_number(&writer, JOB_UID, 1);
    assert_int_equal(read_job(), -1); /* twice */
    set_up(state);
    put_rest(0);
    writer.used--;
    assert_int_equal(read_job(), -1); /* cut */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_whole_job, set_up),
        cmocka_unit_test_setup(defaults, set_up),
        cmocka_unit_test_setup(each_required_field, set_up),
        cmocka_unit_test_setup(impossible_values, set_up),
        cmocka_unit_test_setup(ids_at_their_limit, set_up),
        cmocka_unit_test_setup(collect_paths, set_up),
        cmocka_unit_test_setup(archives_to_unpack, set_up),
        cmocka_unit_test_setup(a_salvage_needs_nothing_else, set_up),
        cmocka_unit_test_setup(counts_at_their_limit, set_up),
        cmocka_unit_test_setup(strings_at_their_limit, set_up),
        cmocka_unit_test_setup(malformed_fields, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
