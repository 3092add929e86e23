/* SPDX-License-Identifier: Apache-2.0 */
/* config_check.c: see config_check.h. */
#include "supervisor/config_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "supervisor/config_value.h"
#include "wire/job.h"
#include "wire/pattern.h"

#define CONFIG_SHELL "/bin/sh"

enum {
    SHOWN_VALUE_BYTES = 128,
    CONFIG_BYTES_PER_INODE = 16384, /* of guest-agent/mkscratch */
};

uint64_t config_memory_reserve(uint64_t memory_bytes)
{
    return 32 * MIB + memory_bytes / 16;
}

static void report(const struct config *config, struct text_list *problems, const char *section,
    const char *key, const char *text)
{
    struct err err = ERR_INIT;

    config_err(config, &err, section, key, "%s", text);
    text_list_add(problems, err.text);
}

/* The argv that the command means, with a shell or without. */
static int split_command(struct config *config, struct err *err)
{
    if (strlen(config->command) > JOB_STRING_MAX_BYTES)
        return err_set(err, "it is longer than %d bytes", JOB_STRING_MAX_BYTES);
    if (config->shell) {
        if (config->command[strspn(config->command, " \t")] == '\0')
            return err_set(err, "it is empty");
        text_list_add(&config->argv, CONFIG_SHELL);
        text_list_add(&config->argv, "-c");
        return text_list_keep(&config->argv, config->command, err);
    }
    if (value_words(config->command, &config->argv, err) < 0)
        return -1;
    if (config->argv.items[0][0] == '\0')
        return err_set(err, "its first word, the program, is empty");
    return 0;
}

static void check_command(struct config *config, struct text_list *problems)
{
    struct err err = ERR_INIT;
    char shown[SHOWN_VALUE_BYTES];

    if (config->command && config->argv.count == 0 && split_command(config, &err) < 0) {
        text_escape(shown, sizeof(shown), config->command, strlen(config->command));
        text_list_addf(problems, "%s: [task] command: \"%s\": %s",
            config_where(config, "task", "command"), shown, err.text);
    }
    if (!config->command && config->shell)
        report(config, problems, "task", "shell", "a shell runs command, and there is none");
    if (!config_where(config, "task", "command") && !config_where(config, "task", "argv.N"))
        report(config, problems, "task", "command", "missing; it names the program to run");
}

/*
 * What a task may have when its limits say nothing of it: no more than the others allow anyway, so
 * that a limit is always there and a task that is silent or busy for all of its time is still fine.
 */
static void check_derived(struct config *config, struct text_list *problems)
{
    uint64_t inodes = config->disk_bytes / CONFIG_BYTES_PER_INODE;
    char text[128];

    if (config->cpu_ns == 0)
        config->cpu_ns = config->wall_ns * config->vcpus;
    if (config->idle_ns == 0)
        config->idle_ns = config->wall_ns;
    if (config->inodes == 0)
        config->inodes = inodes;
    if (config->inodes <= inodes)
        return;
    snprintf(text, sizeof(text),
        "more than the %llu that [limits] disk has room for; raise that "
        "one",
        (unsigned long long)inodes);
    report(config, problems, "limits", "inodes", text);
}

static void check_memory(struct config *config, struct text_list *problems)
{
    uint64_t usable;
    char most[32];
    char text[128];

    if (config->memory_bytes < 64 * MIB)
        return; /* already reported */
    usable = config->memory_bytes - config_memory_reserve(config->memory_bytes);
    usable -= usable % MIB;
    if (config->task_memory_bytes == 0)
        config->task_memory_bytes = usable;
    if (config->task_memory_bytes <= usable)
        return;
    value_size_text(most, usable);
    snprintf(
        text, sizeof(text), "more than the %s that [machine] memory leaves; raise that one", most);
    report(config, problems, "limits", "memory", text);
}

/* '/' sorts before every other byte, so that what is below a directory follows it at once. */
static int path_rank(unsigned char c)
{
    if (c == '/')
        return 1;
    return c ? c + 1 : 0;
}

static int compare_inputs(const void *a, const void *b)
{
    const struct config_input *left = a, *right = b;
    const char *l = left->destination, *r = right->destination;

    while (*l && *l == *r) {
        l++;
        r++;
    }
    return path_rank((unsigned char)*l) - path_rank((unsigned char)*r);
}

static bool is_at_or_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static struct config_input *find_input(struct config *config, const char *destination)
{
    for (size_t i = 0; i < config->input_count; i++) {
        if (strcmp(config->inputs[i].destination, destination) == 0)
            return &config->inputs[i];
    }
    return NULL;
}

static void check_unpack(struct config *config, struct text_list *problems)
{
    for (size_t i = 0; i < config->unpack.count; i++) {
        const char *path = config->unpack.items[i];
        struct config_input *input = find_input(config, path);
        char text[256];

        if (input) {
            input->unpack = true;
            continue;
        }
        snprintf(text, sizeof(text), "%.150s is not the destination of a line of [input]", path);
        report(config, problems, "input_options", "unpack", text);
    }
}

static void check_inputs(struct config *config, struct text_list *problems)
{
    if (config->input_total_bytes == 0)
        config->input_total_bytes = config->disk_bytes;
    qsort(config->inputs, config->input_count, sizeof(config->inputs[0]), compare_inputs);
    for (size_t i = 1; i < config->input_count; i++) {
        const struct config_input *upper = &config->inputs[i - 1];
        const struct config_input *lower = &config->inputs[i];

        if (is_at_or_below(lower->destination, upper->destination))
            text_list_addf(problems, "%s: [input] %s: it lies inside the input %s of %s",
                lower->where, lower->destination, upper->destination, upper->where);
    }
}

static bool is_collected(const struct config *config, const char *path)
{
    for (size_t i = 0; i < config->collect.count; i++) {
        if (pattern_covers(config->collect.items[i], path, strlen(path)))
            return true;
    }
    return false;
}

static void check_artifacts(const struct config *config, struct text_list *problems)
{
    char text[256];

    for (size_t i = 0; i < config->required.count; i++) {
        const char *path = config->required.items[i];

        if (is_collected(config, path))
            continue;
        snprintf(text, sizeof(text), "%.150s is not at or below a path of collect", path);
        report(config, problems, "artifacts", "required", text);
    }
    for (size_t i = 0; i < config->optional.count; i++) {
        const char *path = config->optional.items[i];

        if (text_list_has(&config->required, path))
            snprintf(text, sizeof(text), "%.150s is in required too", path);
        else if (!text_list_has(&config->collect, path))
            snprintf(text, sizeof(text), "%.150s is not one of collect", path);
        else
            continue;
        report(config, problems, "artifacts", "optional", text);
    }
}

void config_check(struct config *config, struct text_list *problems)
{
    check_command(config, problems);
    if (!config_where(config, "image", "path"))
        report(config, problems, "image", "path",
            "missing; it names the root file system of the guest, an EROFS or squashfs image");
    check_memory(config, problems);
    check_derived(config, problems);
    check_inputs(config, problems);
    check_unpack(config, problems);
    check_artifacts(config, problems);
}
