/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_keys.c: every key of task.ini: its section, name, parser, field, range, default and help
 * (supervisor). A new key is a row at the end of this file and a field of struct config.
 */
#include "supervisor/config_keys.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "supervisor/config_value.h"
#include "supervisor/cpu_mask.h"
#include "wire/job.h"

static void *config_field(struct config *config, const struct config_key *row)
{
    return (char *)config + row->offset;
}

static int store_text(char **field, const char *text, struct err *err)
{
    char *copy = text_clone(text, strlen(text));

    if (!copy)
        return err_set(err, "out of memory");
    free(*field);
    *field = copy;
    return 0;
}

static int parse_size(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    char low[32], high[32];
    uint64_t value;

    if (value_size(item->value, &value, err) < 0)
        return -1;
    value_size_text(low, row->min);
    value_size_text(high, row->max);
    if (value < row->min || value > row->max)
        return err_set(err, "it must be between %s and %s", low, high);
    memcpy(config_field(config, row), &value, sizeof(value));
    return 0;
}

static int parse_duration(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    char low[32], high[32];
    uint64_t value;

    if (value_duration(item->value, &value, err) < 0)
        return -1;
    value_duration_text(low, row->min);
    value_duration_text(high, row->max);
    if (value < row->min || value > row->max)
        return err_set(err, "it must be between %s and %s", low, high);
    memcpy(config_field(config, row), &value, sizeof(value));
    return 0;
}

static int parse_count(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    uint64_t value;

    if (value_count(item->value, &value, err) < 0)
        return -1;
    if (value < row->min || value > row->max)
        return err_set(err, "it must be between %llu and %llu", (unsigned long long)row->min,
            (unsigned long long)row->max);
    memcpy(config_field(config, row), &value, sizeof(value));
    return 0;
}

static int parse_choice(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    char words[128] = "";

    for (const struct config_word *word = row->words; word->word; word++) {
        const char *separator = word[1].word ? ", " : " or ";
        size_t used = strlen(words);

        if (strcmp(word->word, item->value) == 0) {
            memcpy(config_field(config, row), &word->value, sizeof(word->value));
            return 0;
        }
        snprintf(words + used, sizeof(words) - used, "%s%s", used ? separator : "", word->word);
    }
    return err_set(err, "it must be %s", words);
}

static int parse_path(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    char *field;

    if (item->value[0] == '\0')
        return err_set(err, "it is empty; it must be a path on this machine");
    memcpy(&field, config_field(config, row), sizeof(field));
    if (store_text(&field, item->value, err) < 0)
        return -1;
    memcpy(config_field(config, row), &field, sizeof(field));
    return 0;
}

static bool is_name(const char *text, const char *marks)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr(marks, text[i]))
            return false;
    }
    return length >= 1 && length <= CONFIG_NAME_MAX_BYTES && isalnum((unsigned char)text[0]);
}

static int parse_name(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    if (!is_name(item->value, "._-"))
        return err_set(err, "it must be 1 to 63 of A-Z a-z 0-9 . _ -, beginning with a letter or "
                            "digit");
    return store_text(&config->name, item->value, err);
}

static int parse_hostname(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    if (!is_name(item->value, "-"))
        return err_set(
            err, "it must be 1 to 63 of A-Z a-z 0-9 -, beginning with a letter or digit");
    return store_text(&config->hostname, item->value, err);
}

static int check_argument(const char *text, struct err *err)
{
    if (strlen(text) > JOB_STRING_MAX_BYTES)
        return err_set(err, "an argument is longer than %d bytes", JOB_STRING_MAX_BYTES);
    return 0;
}

static int parse_command(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    if (config->argv.count > 0 && !item->replaces)
        return err_set(err, "there is argv.0 already; use one or the other");
    text_list_free(&config->argv);
    /* Split once it is known whether a shell does it. */
    return store_text(&config->command, item->value, err);
}

/* argv.0 is the program. The numbers count up with the lines, so that none is missing. */
static int parse_argv(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    uint64_t index;

    if (value_count(item->key + 5, &index, err) < 0)
        return err_set(err, "write argv.0, argv.1, argv.2 and so on");
    if (check_argument(item->value, err) < 0)
        return -1;
    if (index == 0 && item->value[0] == '\0')
        return err_set(err, "argv.0, the program, is empty");
    if (index < config->argv.count && item->replaces) {
        return store_text(&config->argv.items[index], item->value, err);
    }
    if (config->command || (index == 0 && config->argv.count > 0))
        return err_set(err, "there is a command already; use one or the other");
    if (index != config->argv.count)
        return err_set(err, "the next one must be argv.%zu: number them 0, 1, 2 without a gap",
            config->argv.count);
    if (index >= JOB_ARGS_MAX)
        return err_set(err, "there are more than %d arguments", JOB_ARGS_MAX);
    (void)row;
    return text_list_keep(&config->argv, item->value, err);
}

static int parse_workdir(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    if (value_guest_path(item->value, err) < 0)
        return -1;
    return store_text(&config->workdir, item->value, err);
}

static int parse_user(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    AUTO_FREE char *uid_text = NULL;
    const char *colon = strchr(item->value, ':');

    (void)row;
    if (strcmp(item->value, "task") == 0) {
        config->uid = config->gid = 1000;
        return 0;
    }
    if (strcmp(item->value, "root") == 0) {
        config->uid = config->gid = 0;
        return 0;
    }
    if (colon)
        uid_text = text_clone(item->value, (size_t)(colon - item->value));
    if (colon && !uid_text)
        return err_set(err, "out of memory");
    if (!colon || value_count(uid_text, &config->uid, err) < 0 ||
        value_count(colon + 1, &config->gid, err) < 0 || config->uid < 1 || config->uid > 65534 ||
        config->gid < 1 || config->gid > 65534)
        return err_set(err, "it must be task, root, or UID:GID with numbers from 1 to 65534");
    return 0;
}

static int parse_stdin(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    if (strcmp(item->value, "none") == 0)
        config->stdin_kind = STDIN_NONE;
    else if (strcmp(item->value, "inherit") == 0)
        config->stdin_kind = STDIN_INHERIT;
    else if (strncmp(item->value, "file:", 5) == 0 && item->value[5])
        config->stdin_kind = STDIN_FILE;
    else
        return err_set(err, "it must be none, inherit, or file:PATH");
    if (config->stdin_kind == STDIN_FILE)
        return store_text(&config->stdin_path, item->value + 5, err);
    return 0;
}

static int parse_env(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    size_t length = strlen(item->key);
    AUTO_FREE char *pair = text_format("%s=%s", item->key, item->value);

    (void)row;
    if (!pair)
        return err_set(err, "out of memory");
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)item->key[i]) && item->key[i] != '_')
            length = 0;
    }
    if (length == 0 || isdigit((unsigned char)item->key[0]))
        return err_set(
            err, "a variable's name must be of A-Z a-z 0-9 _ and not begin with a digit");
    if (check_argument(pair, err) < 0)
        return -1;
    for (size_t i = 0; i < config->env.count; i++) {
        if (strncmp(config->env.items[i], pair, length + 1) != 0)
            continue;
        if (!item->replaces)
            return err_set(err, "the variable is set twice");
        return store_text(&config->env.items[i], pair, err);
    }
    if (config->env.count >= JOB_ENVS_MAX - 16)
        return err_set(err, "there are too many variables");
    return text_list_keep(&config->env, pair, err);
}

static int parse_image_sha256(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    (void)row;
    config->image_has_sha256 = true;
    return value_sha256(item->value, config->image_sha256, err);
}

static int parse_memory(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    if (parse_size(config, row, item, err) < 0)
        return -1;
    if (config->memory_bytes % (2 * MIB) != 0)
        return err_set(err, "it must be a multiple of 2M");
    return 0;
}

static int parse_cpu_mask(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    struct text_list names = {0};
    int failed = value_list(item->value, &names, err);

    (void)row;
    config->cpu_mask_count = 0;
    if (failed == 0 && names.count > IPC_CPU_MASK_MAX)
        failed = err_set(err, "more than %d features", IPC_CPU_MASK_MAX);
    for (size_t i = 0; failed == 0 && i < names.count; i++) {
        failed = cpu_mask_find(names.items[i], &config->cpu_mask[config->cpu_mask_count], err);
        config->cpu_mask_count++;
    }
    text_list_free(&names);
    return failed;
}

static int parse_input(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    AUTO_FREE char *destination = NULL, *source = NULL, *where = NULL;

    (void)row;
    if (value_task_path(item->key, &destination, err) < 0)
        return err_wrap(err, "the destination");
    if (item->value[0] == '\0')
        return err_set(err, "the source is empty; it must be a file or directory on this machine");
    for (size_t i = 0; i < config->input_count; i++) {
        if (strcmp(config->inputs[i].destination, destination) != 0)
            continue;
        if (!item->replaces)
            return err_set(err, "the destination is given twice");
        return store_text(&config->inputs[i].source, item->value, err);
    }
    if (config->input_count == CONFIG_INPUTS_MAX)
        return err_set(err, "more than %d inputs; use a directory", CONFIG_INPUTS_MAX);
    source = text_clone(item->value, strlen(item->value));
    where = text_clone(item->where, strlen(item->where));
    if (!source || !where)
        return err_set(err, "out of memory");
    config->inputs[config->input_count++] = (struct config_input){
        .destination = take(&destination), .source = take(&source), .where = take(&where)};
    return 0;
}

/* Lists of paths below /task. */
static int parse_task_paths(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    struct text_list *field = config_field(config, row);
    struct text_list texts = {0};
    int failed = value_list(item->value, &texts, err);

    text_list_free(field);
    if (failed == 0 && texts.count > JOB_COLLECTS_MAX)
        failed = err_set(err, "more than %d paths; name a directory", JOB_COLLECTS_MAX);
    for (size_t i = 0; failed == 0 && i < texts.count; i++) {
        AUTO_FREE char *clean = NULL;

        if (value_task_path(texts.items[i], &clean, err) < 0)
            failed = err_wrap(err, "%s", texts.items[i]);
        else if (text_list_has(field, clean))
            failed = err_set(err, "%s is listed twice", clean);
        else
            failed = text_list_keep(field, clean, err);
    }
    text_list_free(&texts);
    return failed;
}

static const struct config_word violations[] = {{"skip", 0}, {"refuse", 1}, {NULL, 0}};
static const struct config_word bundles[] = {{"no", 0}, {"tar.gz", 1}, {NULL, 0}};
static const struct config_word no_yes[] = {{"no", 0}, {"yes", 1}, {NULL, 0}};
static const struct config_word roots[] = {{"readonly", 0}, {"overlay", 1}, {NULL, 0}};
static const struct config_word hardwares[] = {
    {"devicetree", HARDWARE_DEVICETREE}, {"mptable", HARDWARE_MPTABLE}, {NULL, 0}};
static const struct config_word hugepages[] = {
    {"auto", HUGEPAGES_AUTO}, {"yes", HUGEPAGES_YES}, {"no", HUGEPAGES_NO}, {NULL, 0}};

#define FIELD(name)      .offset = offsetof(struct config, name)
#define RANGE(low, high) .min = (low), .max = (high)

/* clang-format off */
const struct config_key config_keys[] = {
    {"task", "name", parse_name, .fallback = "task",
        .help = "short name, for {name} in [output] dir and for the result"},
    {"task", "command", parse_command,
        .help = "program and arguments, split like a POSIX shell does, without a shell"},
    {"task", "argv.N", parse_argv,
        .help = "instead of command: argv.0 is the program, argv.1 its first argument, verbatim"},
    {"task", "shell", parse_choice, FIELD(shell), .words = no_yes, .fallback = "no",
        .help = "yes: command goes to /bin/sh -c of the image as it is written"},
    {"task", "workdir", parse_workdir, .fallback = "/task",
        .help = "working directory in the guest"},
    {"task", "user", parse_user, .fallback = "task",
        .help = "task (1000:1000), root, or UID:GID"},
    {"task", "stdin", parse_stdin, .fallback = "none",
        .help = "none, inherit (vmrun's own stdin), or file:PATH"},
    {"task", "hostname", parse_hostname, .fallback = "vmrun",
        .help = "host name in the guest"},
    {"env", "*", parse_env,
        .help = "environment of the task; only PATH and HOME are set otherwise"},
    {"image", "path", parse_path, FIELD(image),
        .help = "dependency image, EROFS or squashfs: the root file system of the guest"},
    {"image", "sha256", parse_image_sha256,
        .help = "digest that the image must have"},
    {"image", "root", parse_choice, FIELD(root_overlay), .words = roots, .fallback = "readonly",
        .help = "readonly, or overlay: writes to / go to the scratch disk"},
    {"machine", "vcpus", parse_count, FIELD(vcpus), RANGE(1, 16), .fallback = "1",
        .help = "virtual CPUs"},
    {"machine", "memory", parse_memory, FIELD(memory_bytes), RANGE(64 * MIB, 256 * GIB),
        .fallback = "512M", .help = "guest RAM"},
    {"machine", "kernel", parse_path, FIELD(kernel), .help = "guest kernel: vmlinux or bzImage"},
    {"machine", "initramfs", parse_path, FIELD(initramfs), .help = "initramfs with the agent"},
    {"machine", "hardware", parse_choice, FIELD(hardware), .words = hardwares,
        .fallback = "devicetree",
        .help = "how the kernel learns of devices: devicetree, or mptable for kernels without"},
    {"machine", "cpu_mask", parse_cpu_mask,
        .help = "CPU features to hide from the guest, as /proc/cpuinfo names them"},
    {"machine", "hugepages", parse_choice, FIELD(hugepages), .words = hugepages,
        .fallback = "auto", .help = "huge pages for guest RAM: auto, yes (or no run), no"},
    {"machine", "workdir", parse_path, FIELD(disk_directory),
        .help = "directory for the disks of the run; default: the file system of the output"},
    {"machine", "workdir_tmpfs", parse_choice, FIELD(disk_on_tmpfs), .words = no_yes,
        .fallback = "no", .help = "yes: the disks may lie on a tmpfs, that is in the host's RAM"},
    {"machine", "allow_weaker_jail", parse_choice, FIELD(allow_weaker_jail), .words = no_yes,
        .fallback = "no", .help = "yes: run with what is left of the jails without namespaces"},
    {"machine", "jail_uids", config_parse_uids, .fallback = "1900000000-1900000999",
        .help = "user IDs, FIRST-LAST, of jails when root runs vmrun"},
    {"machine", "jail_debug", parse_choice, FIELD(jail_debug), .words = no_yes, .fallback = "no",
        .help = "yes: name the system call that a jail refused"},
    {"limits", "wall", parse_duration, FIELD(wall_ns),
        RANGE(100 * NS_PER_MS, 168 * 3600 * NS_PER_S), .fallback = "60s",
        .help = "time from the start of the task to its end"},
    {"limits", "boot", parse_duration, FIELD(boot_ns), RANGE(100 * NS_PER_MS, 600 * NS_PER_S),
        .fallback = "10s", .help = "time for the guest to boot"},
    {"limits", "memory", parse_size, FIELD(task_memory_bytes), RANGE(4 * MIB, 256 * GIB),
        .help = "memory of the task; default: [machine] memory less a reserve for the guest"},
    {"limits", "processes", parse_count, FIELD(processes), RANGE(1, 65536), .fallback = "256",
        .help = "processes and threads of the task at once"},
    {"limits", "open_files", parse_count, FIELD(open_files), RANGE(16, 524288), .fallback = "1024",
        .help = "open files of each process"},
    {"limits", "disk", parse_size, FIELD(disk_bytes), RANGE(16 * MIB, 1024 * GIB),
        .fallback = "512M", .help = "size of the scratch disk: /task, /tmp, the overlay"},
    {"limits", "stdout", parse_size, FIELD(stdout_bytes), RANGE(1, 64 * GIB), .fallback = "16M",
        .help = "bytes of standard output that are kept"},
    {"limits", "stderr", parse_size, FIELD(stderr_bytes), RANGE(1, 64 * GIB), .fallback = "16M",
        .help = "bytes of standard error that are kept"},
    {"limits", "cpu", parse_duration, FIELD(cpu_ns),
        RANGE(100 * NS_PER_MS, 16 * 168 * 3600 * NS_PER_S),
        .help = "CPU time of the task, all processes together; default: wall times vcpus"},
    {"limits", "idle", parse_duration, FIELD(idle_ns),
        RANGE(100 * NS_PER_MS, 168 * 3600 * NS_PER_S),
        .help = "time without any output; default: wall"},
    {"limits", "inodes", parse_count, FIELD(inodes), RANGE(16, 64 * MIB),
        .help = "files and directories on the scratch disk; default: one for each 16K of disk"},
    {"input", "*", parse_input,
        .help = "destination below /task = source, a file or directory relative to the ini file"},
    {"artifacts", "collect", parse_task_paths, FIELD(collect),
        .help = "files and directories below /task to hand back; * and ? match within a name"},
    {"artifacts", "required", parse_task_paths, FIELD(required),
        .help = "those of them that must be there for the run to be ok"},
    {"artifacts", "max_total", parse_size, FIELD(artifacts_total_bytes), RANGE(1, 1024 * GIB),
        .fallback = "64M", .help = "bytes of all artifacts together"},
    {"artifacts", "max_file", parse_size, FIELD(artifacts_file_bytes), RANGE(1, 1024 * GIB),
        .fallback = "64M", .help = "bytes of one artifact"},
    {"artifacts", "max_files", parse_count, FIELD(artifacts_files), RANGE(1, 65536),
        .fallback = "1000", .help = "files and directories"},
    {"artifacts", "max_depth", parse_count, FIELD(artifacts_depth), RANGE(1, 64),
        .fallback = "16", .help = "components of a path"},
    {"output", "dir", parse_path, FIELD(output), .fallback = "vmrun-out/{name}-{run}",
        .help = "directory for the results, relative to the ini file; new or empty"},
    {"input_options", "follow_links", parse_choice, FIELD(input_follow), .words = no_yes,
        .fallback = "no", .help = "yes: symbolic links are followed, within an input directory"},
    {"input_options", "unpack", parse_task_paths, FIELD(unpack),
        .help = "inputs that are .tar or .tar.gz, to be unpacked into a directory of that name"},
    {"input_options", "max_total", parse_size, FIELD(input_total_bytes), RANGE(1, 1024 * GIB),
        .help = "bytes of all inputs, and again of all that is unpacked; default: [limits] disk"},
    {"input_options", "max_files", parse_count, FIELD(input_files), RANGE(1, 1000000),
        .fallback = "100000", .help = "files and directories of the inputs, and unpacked ones"},
    {"input_options", "max_depth", parse_count, FIELD(input_depth), RANGE(1, INPUT_DEPTH_MAX),
        .fallback = "64", .help = "directories below each other in an input, and in an archive"},
    {"artifacts", "salvage", parse_choice, FIELD(salvage), .words = no_yes, .fallback = "yes",
        .help = "yes: when the guest is lost, a second one exports what it left on its disk"},
    {"artifacts", "optional", parse_task_paths, FIELD(optional),
        .help = "those of collect that may be missing"},
    {"artifacts", "types", parse_artifact_types,
        .help = "what the content of every file must be: png, jpeg, pdf, csv, json, text"},
    {"artifacts", "on_violation", parse_choice, FIELD(artifacts_refuse), .words = violations,
        .fallback = "skip",
        .help = "skip: leave out what breaks a rule; refuse: then hand out nothing"},
    {"artifacts", "bundle", parse_choice, FIELD(artifacts_bundle), .words = bundles,
        .fallback = "no", .help = "tar.gz: one reproducible archive instead of a directory"},
};
/* clang-format on */
const size_t config_key_count = sizeof(config_keys) / sizeof(config_keys[0]);
static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEYS_MAX, "where[] is full");

const struct config_key *config_key_find(const char *section, const char *key)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *row = &config_keys[i];

        if (strcmp(row->section, section) != 0)
            continue;
        if (strcmp(row->key, "*") == 0 || strcmp(row->key, key) == 0 ||
            (strcmp(row->key, "argv.N") == 0 && strncmp(key, "argv.", 5) == 0))
            return row;
    }
    return NULL;
}
