/* SPDX-License-Identifier: Apache-2.0 */
/* config_test.c: what a task file means, and exactly what is said about one that is wrong. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "supervisor/config.h"
#include "supervisor/config_keys.h"
#include "tests/unit/unit.h"

#define GOOD "[task]\ncommand = true\n[image]\npath = base.erofs\n"

static struct config config;
static struct text_list problems;
static struct text_list sets;

static int tear_down(void **state)
{
    (void)state;
    config_free(&config);
    text_list_free(&problems);
    text_list_free(&sets);
    return 0;
}

static int parse(const char *text)
{
    tear_down(NULL);
    return config_parse(&config, "dir/task.ini", text, strlen(text), &sets, &problems);
}

/* One --set with a good file. */
static int parse_set(const char *set)
{
    tear_down(NULL);
    text_list_add(&sets, set);
    return config_parse(&config, "dir/task.ini", GOOD, strlen(GOOD), &sets, &problems);
}

static void assert_good(const char *text)
{
    if (parse(text) < 0)
        fail_msg("%s", problems.items[0]);
}

/* TEXT has the one problem PROBLEM. */
static void assert_problem(const char *text, const char *problem)
{
    assert_int_equal(parse(text), -1);
    assert_string_equal(problems.items[0], problem);
    assert_int_equal(problems.count, 1);
}

static void defaults_are_safe_and_complete(void **state)
{
    (void)state;
    assert_good(GOOD);
    assert_string_equal(config.directory, "dir");
    assert_string_equal(config.name, "task");
    assert_int_equal(config.argv.count, 1);
    assert_string_equal(config.workdir, "/task");
    assert_true(config.uid == 1000 && config.gid == 1000);
    assert_int_equal(config.stdin_kind, STDIN_NONE);
    assert_int_equal(config.root_overlay, 0);
    assert_true(config.vcpus == 1 && config.memory_bytes == 512 * MIB);
    assert_int_equal(config.hardware, HARDWARE_DEVICETREE);
    assert_int_equal(config.disk_on_tmpfs, 0);
    assert_true(config.wall_ns == 60 * NS_PER_S && config.boot_ns == 10 * NS_PER_S);
    assert_true(config.task_memory_bytes == 448 * MIB);
    assert_true(config.processes == 256 && config.open_files == 1024);
    assert_true(config.disk_bytes == 512 * MIB && config.stdout_bytes == 16 * MIB);
    assert_int_equal(config.collect.count, 0);
    assert_string_equal(config.output, "vmrun-out/{name}-{run}");
}

static void every_key_can_be_set(void **state)
{
    (void)state;
    assert_good("[task]\nname = n-1\nargv.0 = sh\nargv.1 =\nargv.2 = a  b\nworkdir = /tmp\n"
                "user = 12:34\nstdin = file:in.txt\nhostname = h\n"
                "[env]\nA = 1\nB_2 =\n"
                "[image]\npath = i\n"
                "sha256 = 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
                "root = overlay\n"
                "[machine]\nvcpus = 16\nmemory = 64M\nkernel = k\ninitramfs = r\n"
                "hardware = mptable\ncpu_mask = xsave, avx\nhugepages = no\nworkdir = w\n"
                "workdir_tmpfs = yes\nallow_weaker_jail = yes\njail_uids = 5-9\njail_debug = yes\n"
                "[limits]\nwall = 1h\nboot = 100ms\nmemory = 16M\nprocesses = 1\nopen_files = 16\n"
                "disk = 16M\nstdout = 1B\nstderr = 2K\n"
                "[input]\na/b = src\n/task/c = /abs\n"
                "[artifacts]\ncollect = out, /task/x\nrequired = out/y\nmax_total = 1M\n"
                "optional = x\ntypes = json, text\non_violation = refuse\nbundle = tar.gz\n"
                "max_file = 1K\nmax_files = 1\nmax_depth = 2\n"
                "[output]\ndir = o\n");
    assert_int_equal(config.argv.count, 3);
    assert_string_equal(config.argv.items[1], "");
    assert_string_equal(config.argv.items[2], "a  b");
    assert_true(config.uid == 12 && config.gid == 34);
    assert_string_equal(config.stdin_path, "in.txt");
    assert_string_equal(config.env.items[1], "B_2=");
    assert_true(config.image_has_sha256 && config.image_sha256[1] == 0x11);
    assert_true(config.allow_weaker_jail && config.jail_debug);
    assert_true(config.first_uid == 5 && config.uid_count == 5);
    assert_int_equal(config.cpu_mask_count, 2);
    assert_true(config.cpu_mask[1].leaf == 1 && config.cpu_mask[1].reg == 2 &&
                config.cpu_mask[1].bit == 28);
    assert_string_equal(config.inputs[0].destination, "a/b");
    assert_string_equal(config.inputs[1].source, "/abs");
    assert_string_equal(config.collect.items[1], "x");
    assert_true(config.artifacts_depth == 2);
    assert_true(config.artifacts_types == (1U << ARTIFACT_JSON | 1U << ARTIFACT_TEXT));
    assert_true(config.artifacts_refuse == 1 && config.artifacts_bundle == 1);
    assert_string_equal(config.optional.items[0], "x");
    assert_string_equal(config_where(&config, "machine", "vcpus"), "dir/task.ini:18");
    assert_null(config_where(&config, "task", "command"));
}

static void wrong_values_name_line_key_value_and_remedy(void **state)
{
    (void)state;
    assert_problem(GOOD "[limits]\nwall = 30\n",
        "dir/task.ini:6: [limits] wall: \"30\": the unit is missing; write it like 500ms, 30s, 10m "
        "or 2h");
    assert_problem(GOOD "[limits]\nwall = 0s\n",
        "dir/task.ini:6: [limits] wall: \"0s\": it must be between 100ms and 168h");
    assert_problem(GOOD "[limits]\nprocesses = 0\n",
        "dir/task.ini:6: [limits] processes: \"0\": it must be between 1 and 65536");
    assert_problem(GOOD "[limits]\nstdout = 0K\n",
        "dir/task.ini:6: [limits] stdout: \"0K\": it must be between 1B and 64G");
    assert_problem(GOOD "[machine]\nmemory = 63M\n",
        "dir/task.ini:6: [machine] memory: \"63M\": it must be between 64M and 256G");
    assert_problem(GOOD "[machine]\nmemory = 65M\n",
        "dir/task.ini:6: [machine] memory: \"65M\": it must be a multiple of 2M");
    assert_problem(GOOD "[machine]\nvcpus = 17\n",
        "dir/task.ini:6: [machine] vcpus: \"17\": it must be between 1 and 16");
    assert_problem(GOOD "[machine]\njail_uids = 0-9\n",
        "dir/task.ini:6: [machine] jail_uids: \"0-9\": it must be FIRST-LAST, two numbers from 1 "
        "to "
        "4294967294");
    assert_problem(GOOD "[machine]\njail_uids = 9-8\n",
        "dir/task.ini:6: [machine] jail_uids: \"9-8\": it must be FIRST-LAST, two numbers from 1 "
        "to "
        "4294967294");
    assert_problem(GOOD "[machine]\njail_uids = 1-4294967295\n",
        "dir/task.ini:6: [machine] jail_uids: \"1-4294967295\": it must be FIRST-LAST, two numbers "
        "from 1 to 4294967294");
    assert_problem(GOOD "[machine]\nhugepages = on\n",
        "dir/task.ini:6: [machine] hugepages: \"on\": it must be auto, yes or no");
    assert_problem(GOOD "[output]\ndir =\n",
        "dir/task.ini:6: [output] dir: \"\": it is empty; it must be a path on this machine");
    assert_problem(GOOD "[env]\n1A = x\n",
        "dir/task.ini:6: [env] 1A: \"x\": a variable's name must be of A-Z a-z 0-9 _ and not begin "
        "with a digit");
    assert_problem("[task]\ncommand = true\nuser = 0:0\n[image]\npath = i\n",
        "dir/task.ini:3: [task] user: \"0:0\": it must be task, root, or UID:GID with numbers from "
        "1 "
        "to 65534");
}

static void values_in_messages_are_escaped_and_cut(void **state)
{
    (void)state;
    assert_problem(GOOD "[limits]\nwall = \xc3\xa9\n",
        "dir/task.ini:6: [limits] wall: \"\\xc3\\xa9\": it must be a whole number and a unit, like "
        "500ms, 30s, 10m or 2h");
}

static void unknown_names_get_the_nearest_known_one(void **state)
{
    (void)state;
    assert_problem(GOOD "[limits]\nprocceses = 3\n",
        "dir/task.ini:6: [limits] procceses: unknown key; did you mean processes?");
    assert_problem(GOOD "[limits]\nvcpus = 3\n",
        "dir/task.ini:6: [limits] vcpus: unknown key here; it belongs to [machine]");
    assert_problem(
        GOOD "[limits]\nzzzzzzzz = 3\n", "dir/task.ini:6: [limits] zzzzzzzz: unknown key");
    assert_problem(GOOD "[limit]\nwall = 3s\nnonsense = 1\n",
        "dir/task.ini:5: [limit]: unknown section; did you mean [limits]?");
    assert_problem(GOOD "[network]\n", "dir/task.ini:5: [network]: unknown section");
}

static void duplicates_are_refused(void **state)
{
    (void)state;
    assert_problem(GOOD "[limits]\nwall = 3s\nwall = 3s\n",
        "dir/task.ini:7: [limits] wall: set twice; the first is at dir/task.ini:6");
    assert_problem(GOOD "[task]\nname = x\n",
        "dir/task.ini:5: [task]: the section appears twice; put its keys together");
    assert_problem(
        GOOD "[env]\nA = 1\nA = 2\n", "dir/task.ini:7: [env] A: \"2\": the variable is set twice");
    assert_problem(GOOD "[input]\na = 1\n./a = 2\n",
        "dir/task.ini:7: [input] ./a: \"2\": the destination is given twice");
    assert_problem("[task]\ncommand = true\nargv.0 = true\n[image]\npath = i\n",
        "dir/task.ini:3: [task] argv.0: \"true\": there is a command already; use one or the "
        "other");
    assert_problem("[task]\nargv.0 = true\nargv.2 = x\n[image]\npath = i\n",
        "dir/task.ini:3: [task] argv.2: \"x\": the next one must be argv.1: number them 0, 1, 2 "
        "without a gap");
}

static void a_shell_gets_the_command_as_it_is(void **state)
{
    (void)state;
    assert_good(
        "[task]\ncommand = echo \"$HOME\" | cat; it's fine\nshell = yes\n[image]\npath = i\n");
    assert_int_equal(config.argv.count, 3);
    assert_string_equal(config.argv.items[0], "/bin/sh");
    assert_string_equal(config.argv.items[1], "-c");
    assert_string_equal(config.argv.items[2], "echo \"$HOME\" | cat; it's fine");
    assert_problem("[task]\nshell = yes\nargv.0 = true\n[image]\npath = i\n",
        "dir/task.ini:2: [task] shell: a shell runs command, and there is none");
    assert_problem("[task]\ncommand = it's\n[image]\npath = i\n",
        "dir/task.ini:2: [task] command: \"it's\": the ' quote is never closed");
}

static void limits_that_are_not_given_follow_from_others(void **state)
{
    (void)state;
    assert_good(GOOD "[machine]\nvcpus = 2\n[limits]\nwall = 3s\ndisk = 32M\n");
    assert_true(config.cpu_ns == 6 * NS_PER_S && config.idle_ns == 3 * NS_PER_S);
    assert_int_equal(config.inodes, 2048);
    assert_good(GOOD "[limits]\ncpu = 100ms\nidle = 5m\ndisk = 32M\ninodes = 2048\n");
    assert_true(config.cpu_ns == 100 * NS_PER_MS && config.idle_ns == 300 * NS_PER_S);
    assert_problem(GOOD "[limits]\ndisk = 32M\ninodes = 2049\n",
        "dir/task.ini:7: [limits] inodes: more than the 2048 that [limits] disk has room for; "
        "raise that one");
    assert_problem(GOOD "[limits]\ncpu = 0s\n",
        "dir/task.ini:6: [limits] cpu: \"0s\": it must be between 100ms and 2688h");
    assert_problem(GOOD "[limits]\nidle = 0s\n",
        "dir/task.ini:6: [limits] idle: \"0s\": it must be between 100ms and 168h");
    assert_problem(GOOD "[limits]\ninodes = 0\n",
        "dir/task.ini:6: [limits] inodes: \"0\": it must be between 16 and 67108864");
}

static void options_of_inputs(void **state)
{
    (void)state;
    assert_good(GOOD "[limits]\ndisk = 32M\n[input]\na = x.tar\nb/c = y\n");
    assert_true(config.input_total_bytes == 32 * MIB && config.input_files == 100000);
    assert_true(config.input_depth == 64 && config.input_follow == 0 && config.salvage == 1);
    assert_false(config.inputs[0].unpack || config.inputs[1].unpack);
    assert_good(GOOD "[input]\na = x.tar\nb/c = y\n[input_options]\nunpack = /task/b//c, a\n"
                     "max_total = 1B\nmax_files = 1\nmax_depth = 1\nfollow_links = yes\n");
    assert_true(config.inputs[0].unpack && config.inputs[1].unpack);
    assert_true(config.input_total_bytes == 1 && config.input_follow == 1);
    assert_problem(GOOD "[input]\na = x\n[input_options]\nunpack = b\n",
        "dir/task.ini:8: [input_options] unpack: b is not the destination of a line of [input]");
    assert_problem(GOOD "[input_options]\nmax_depth = 65\n",
        "dir/task.ini:6: [input_options] max_depth: \"65\": it must be between 1 and 64");
    assert_problem(GOOD "[input_options]\nmax_files = 1000001\n",
        "dir/task.ini:6: [input_options] max_files: \"1000001\": it must be between 1 and 1000000");
}

static void missing_keys_are_named(void **state)
{
    (void)state;
    assert_int_equal(parse(""), -1);
    assert_int_equal(problems.count, 2);
    assert_string_equal(
        problems.items[0], "dir/task.ini: [task] command: missing; it names the program to run");
    assert_non_null(strstr(problems.items[1], "dir/task.ini: [image] path: missing"));
}

static void keys_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    assert_problem(GOOD "[machine]\nmemory = 64M\n[limits]\nmemory = 29M\n",
        "dir/task.ini:8: [limits] memory: more than the 28M that [machine] memory leaves; raise "
        "that "
        "one");
    assert_good(GOOD "[machine]\nmemory = 64M\n[limits]\nmemory = 28M\n");
    assert_problem(GOOD "[input]\na/b = x\na = y\n",
        "dir/task.ini:6: [input] a/b: it lies inside the input a of dir/task.ini:7");
    assert_good(GOOD "[input]\na.b = x\na = y\nab = z\n");
    assert_string_equal(config.inputs[0].destination, "a");
    assert_problem(GOOD "[artifacts]\ncollect = out\nrequired = output\n",
        "dir/task.ini:7: [artifacts] required: output is not at or below a path of collect");
    assert_problem(GOOD "[artifacts]\ncollect = *.png\nrequired = a.txt\n",
        "dir/task.ini:7: [artifacts] required: a.txt is not at or below a path of collect");
    assert_problem(GOOD "[artifacts]\ncollect = a, b\noptional = c\n",
        "dir/task.ini:7: [artifacts] optional: c is not one of collect");
    assert_problem(GOOD "[artifacts]\ncollect = a\noptional = a\nrequired = a\n",
        "dir/task.ini:7: [artifacts] optional: a is in required too");
    assert_problem(GOOD "[artifacts]\ncollect = a\ntypes = png, jpg\n",
        "dir/task.ini:7: [artifacts] types: \"png, jpg\": unknown type jpg (did you mean "
        "jpeg?); it must be png, jpeg, pdf, csv, json or text");
    assert_problem(GOOD "[artifacts]\ncollect = a\ntypes = data\n",
        "dir/task.ini:7: [artifacts] types: \"data\": unknown type data; it must be png, jpeg, "
        "pdf, "
        "csv, json or text");
    assert_problem(GOOD "[artifacts]\ncollect = a\ntypes =\n",
        "dir/task.ini:7: [artifacts] types: \"\": it is empty; leave it out when any content will "
        "do");
    assert_problem(GOOD "[artifacts]\ncollect = a\nmax_files = 65537\n",
        "dir/task.ini:7: [artifacts] max_files: \"65537\": it must be between 1 and 65536");
    assert_problem(GOOD "[artifacts]\ncollect = a\nbundle = zip\n",
        "dir/task.ini:7: [artifacts] bundle: \"zip\": it must be no or tar.gz");
    assert_problem(GOOD "[artifacts]\ncollect = a\non_violation = ignore\n",
        "dir/task.ini:7: [artifacts] on_violation: \"ignore\": it must be skip or refuse");
}

static void all_problems_come_in_one_pass(void **state)
{
    static const char *const lines[] = {"dir/task.ini:2:", "dir/task.ini:3:", "dir/task.ini:5:",
        "dir/task.ini:6:", "dir/task.ini: [image] path"};

    (void)state;
    assert_int_equal(parse("[task]\nuser = me\nnam = x\n[limits]\nwall = 1\n x = 2\n"), -1);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        bool found = false;

        for (size_t j = 0; j < problems.count; j++)
            found = found || strncmp(problems.items[j], lines[i], strlen(lines[i])) == 0;
        if (!found)
            fail_msg("no problem at %s", lines[i]);
    }
}

static void set_replaces_what_the_file_says(void **state)
{
    (void)state;
    assert_int_equal(parse_set("limits.wall=5m"), 0);
    assert_true(config.wall_ns == 300 * NS_PER_S);
    assert_string_equal(config_where(&config, "limits", "wall"), "--set");
    assert_int_equal(parse_set("task.command=a b"), 0);
    assert_int_equal(config.argv.count, 2);
    assert_int_equal(parse_set("env.X=1=2"), 0);
    assert_string_equal(config.env.items[0], "X=1=2");
    assert_int_equal(parse_set("limits.wall=5"), -1);
    assert_non_null(strstr(problems.items[0], "--set: [limits] wall: \"5\": the unit is missing"));
    assert_int_equal(parse_set("nothing"), -1);
    assert_string_equal(problems.items[0], "--set nothing: write it as section.key=value");
    assert_int_equal(parse_set("bad.key=1"), -1);
    assert_string_equal(problems.items[0], "--set: [bad] key: there is no such section");
}

/* The table itself: what it says about ranges and defaults holds. */
static void the_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *row = &config_keys[i];

        assert_non_null(row->help);
        assert_ptr_equal(
            config_key_find(row->section, strcmp(row->key, "*") == 0 ? "any" : row->key), row);
        assert_true(row->min <= row->max);
        assert_false(row->max > 0 && row->min == 0); /* 0 never means "no limit" */
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(defaults_are_safe_and_complete, tear_down),
    cmocka_unit_test_teardown(every_key_can_be_set, tear_down),
    cmocka_unit_test_teardown(wrong_values_name_line_key_value_and_remedy, tear_down),
    cmocka_unit_test_teardown(values_in_messages_are_escaped_and_cut, tear_down),
    cmocka_unit_test_teardown(unknown_names_get_the_nearest_known_one, tear_down),
    cmocka_unit_test_teardown(duplicates_are_refused, tear_down),
    cmocka_unit_test_teardown(options_of_inputs, tear_down),
    cmocka_unit_test_teardown(a_shell_gets_the_command_as_it_is, tear_down),
    cmocka_unit_test_teardown(limits_that_are_not_given_follow_from_others, tear_down),
    cmocka_unit_test_teardown(missing_keys_are_named, tear_down),
    cmocka_unit_test_teardown(keys_that_contradict_each_other_are_refused, tear_down),
    cmocka_unit_test_teardown(all_problems_come_in_one_pass, tear_down),
    cmocka_unit_test_teardown(set_replaces_what_the_file_says, tear_down),
    cmocka_unit_test(the_table_is_sound),
};

UNIT_MAIN(tests)
