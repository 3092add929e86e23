/* SPDX-License-Identifier: Apache-2.0 */
/* job_pack_test.c: the agent reads from a job what the config says, and nobody can change it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/job_pack.h"
#include "tests/unit/unit.h"
#include "wire/job.h"

static struct config config;

static int set_up(void **state)
{
    (void)state;
    memset(&config, 0, sizeof(config));
    text_list_add(&config.argv, "sh");
    text_list_add(&config.argv, "");
    text_list_add(&config.env, "A=1");
    text_list_add(&config.collect, "out");
    config.path = text_clone("t.ini", 5);
    config.workdir = text_clone("/task", 5);
    config.hostname = text_clone("h", 1);
    config.uid = 1000;
    config.gid = 1001;
    config.wall_ns = 5;
    config.task_memory_bytes = 6;
    config.processes = 7;
    config.open_files = 8;
    config.disk_bytes = 4097;
    config.cpu_ns = 9;
    config.idle_ns = 10;
    config.inodes = 11;
    text_list_add(&config.unpack, "a");
    config.input_total_bytes = 12;
    config.input_files = 13;
    config.input_depth = 14;
    config.artifacts_total_bytes = 15;
    config.artifacts_file_bytes = 16;
    config.artifacts_files = 17;
    config.artifacts_depth = 18;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    text_list_free(&config.argv);
    text_list_free(&config.env);
    text_list_free(&config.collect);
    text_list_free(&config.unpack);
    free(config.path);
    free(config.workdir);
    free(config.hostname);
    return 0;
}

/* The job as text: "tag=value;" each. */
static void job_text(const uint8_t *bytes, size_t size, char text[4096])
{
    struct reader reader = reader_make(bytes, size);
    struct job_field field;
    struct err err = ERR_INIT;
    uint32_t seen = 0;
    size_t used = 0;

    while (job_next(&reader, &seen, &field, &err) == 1) {
        if (field.bytes)
            used += (size_t)snprintf(text + used, 4096 - used, "%u=%.*s;", field.tag,
                (int)field.size, (const char *)field.bytes);
        else
            used += (size_t)snprintf(
                text + used, 4096 - used, "%u=%llu;", field.tag, (unsigned long long)field.number);
    }
    assert_false(err_is_set(&err));
}

/* The job of the config, as text. */
static void pack(char text[4096])
{
    uint8_t bytes[4096];
    struct writer writer = writer_make(bytes, sizeof(bytes));
    struct err err = ERR_INIT;

    assert_int_equal(job_pack(&config, 99, &writer, &err), 0);
    job_text(bytes, writer.used, text);
}

static void the_agent_reads_what_the_config_says(void **state)
{
    char text[4096];

    (void)state;
    pack(text);
    assert_string_equal(text,
        "1=sh;1=;2=PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin;2=HOME=/task;"
        "2=A=1;3=/task;4=h;5=1000;6=1001;7=99;8=5;9=6;10=7;11=8;12=0;13=0;14=out;15=0;16=8192;"
        "17=9;18=10;19=11;20=a;21=12;22=13;23=14;"
        "25=15;26=16;27=17;28=18;");
}

/* Nothing of what the task had: no command, no environment, no inputs. */
static void the_job_of_a_salvage_says_what_to_collect(void **state)
{
    struct err err = ERR_INIT;
    AUTO_FD int fd = job_make_salvage(&config, &err);
    uint8_t bytes[4096];
    char text[4096];
    ssize_t size;

    (void)state;
    assert_true(fd >= 0);
    size = fd_pread_all(fd, bytes, sizeof(bytes), 0);
    assert_true(size > 0);
    job_text(bytes, (size_t)size, text);
    assert_string_equal(text, "24=1;14=out;25=15;26=16;27=17;28=18;");
}

static void the_user_replaces_the_default_environment(void **state)
{
    char text[4096];

    (void)state;
    text_list_add(&config.env, "PATH=/x");
    config.stdin_kind = STDIN_INHERIT;
    config.input_count = 1;
    config.root_overlay = 1;
    pack(text);
    config.input_count = 0;
    assert_non_null(strstr(text, "2=HOME=/task;2=A=1;2=PATH=/x;"));
    assert_null(strstr(text, "/usr/local/bin"));
    assert_non_null(strstr(text, "12=1;13=1;14=out;15=1;"));
}

static void a_job_that_does_not_fit_is_refused(void **state)
{
    uint8_t bytes[64];
    struct writer writer = writer_make(bytes, sizeof(bytes));
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(job_pack(&config, 99, &writer, &err), -1);
    assert_string_equal(
        err.text, "t.ini: command and environment together are larger than 4194304 bytes");
}

static void the_memory_is_sealed(void **state)
{
    struct err err = ERR_INIT;
    AUTO_FD int fd = job_make(&config, &err);
    uint64_t size;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fd_size(fd, &size, &err), 0);
    assert_true(size > 100);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(the_agent_reads_what_the_config_says, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_job_of_a_salvage_says_what_to_collect, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_user_replaces_the_default_environment, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_job_that_does_not_fit_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_memory_is_sealed, set_up, tear_down),
};

UNIT_MAIN(tests)
