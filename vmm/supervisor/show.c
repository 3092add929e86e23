/* SPDX-License-Identifier: Apache-2.0 */
/* show.c: see show.h. What is shown is the user's own. */
#include "supervisor/show.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/num.h"
#include "supervisor/config_keys.h"
#include "supervisor/config_value.h"
#include "supervisor/json_memory.h"
#include "supervisor/result_parts.h"

enum { ORIGIN_COLUMN = 36, PATH_BYTES = 4096, SHOWN_CHUNK_BYTES = 4096 };

static const char *origin_of(const char *where)
{
    if (strcmp(where, "default") == 0 || strcmp(where, "--set") == 0)
        return where[0] == '-' ? "set" : "default";
    return "file";
}

static void add_setting(json_t *list, const struct config_key *row, const char *key,
    const char *value, const char *where)
{
    json_t *setting = json_object();

    put_text(setting, "section", row->section);
    put_text(setting, "key", key);
    put_text(setting, "value", value);
    put_text(setting, "origin", origin_of(where));
    put_text(setting, "where", where);
    json_array_append_new(list, setting);
}

/* Where the disks would be made. */
static const char *disk_directory(const struct plan *plan, char path[PATH_BYTES])
{
    char link[32];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", plan->disk_dir_fd);
    length = readlink(link, path, PATH_BYTES - 1);
    path[length < 0 ? 0 : length] = '\0';
    return length < 0 ? NULL : path;
}

/*
 * The value of a key that is absent and that no fixed text stands for; NULL: it has none. TEXT is
 * for one that is not there yet.
 */
static const char *derived_value(
    const struct plan *plan, const struct config_key *row, char text[PATH_BYTES])
{
    const struct config *config = plan->config;
    const char *key = row->key;

    text[0] = '\0';
    if (strcmp(row->section, "limits") == 0) {
        if (strcmp(key, "memory") == 0)
            value_size_text(text, config->task_memory_bytes);
        else if (strcmp(key, "cpu") == 0)
            value_duration_text(text, config->cpu_ns);
        else if (strcmp(key, "idle") == 0)
            value_duration_text(text, config->idle_ns);
        else if (strcmp(key, "inodes") == 0)
            snprintf(text, PATH_BYTES, "%llu", (unsigned long long)config->inodes);
    } else if (strcmp(row->section, "machine") == 0) {
        if (strcmp(key, "kernel") == 0)
            return plan->kernel_path;
        if (strcmp(key, "initramfs") == 0)
            return plan->initramfs_path;
        if (strcmp(key, "workdir") == 0)
            return disk_directory(plan, text);
    }
    return text[0] ? text : NULL;
}

/* In the order of the table, so that a section stays together. */
static json_t *settings(const struct plan *plan)
{
    const struct config *config = plan->config;
    json_t *list = json_array();

    for (size_t number = 0; number < config_key_count; number++) {
        const struct config_key *row = &config_keys[number];
        bool many = strcmp(row->key, "*") == 0 || strcmp(row->key, "argv.N") == 0;
        bool found = false;

        for (size_t i = 0; i < config->setting_count; i++) {
            const struct config_setting *setting = &config->settings[i];

            if (setting->row != number)
                continue;
            add_setting(list, row, setting->key, setting->value, setting->where);
            found = true;
        }
        if (!found && !many) {
            char text[PATH_BYTES];

            add_setting(list, row, row->key, derived_value(plan, row, text), "default");
        }
    }
    return list;
}

static void add_file(json_t *list, const char *role, const char *path, int fd)
{
    json_t *file = json_object();
    struct stat status;

    put_text(file, "role", role);
    put_text(file, "path", path);
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        put_number(file, "bytes", (uint64_t)status.st_size);
    else
        put(file, "bytes", json_null()); /* a directory */
    json_array_append_new(list, file);
}

static void add_task_file(
    json_t *list, const struct config *config, const char *role, const char *path, int fd)
{
    AUTO_FREE char *whole = config_path(config, path);

    if (!whole)
        json_memory_miss();
    add_file(list, role, whole, fd);
}

/* Every one of them was found and opened: a plan is not made otherwise. */
static json_t *files(const struct plan *plan)
{
    const struct config *config = plan->config;
    json_t *list = json_array();

    add_file(list, "kernel", plan->kernel_path, plan->kernel_fd);
    add_file(list, "initramfs", plan->initramfs_path, plan->initramfs_fd);
    add_file(list, "scratch template", plan->template_path, plan->template_fd);
    add_task_file(list, config, "image", config->image, plan->image_fd);
    if (plan->stdin_fd >= 0)
        add_task_file(list, config, "stdin", config->stdin_path, plan->stdin_fd);
    for (size_t i = 0; i < config->input_count; i++)
        add_task_file(list, config, "input", config->inputs[i].source, plan->input_fds[i]);
    return list;
}

json_t *show_make(const struct plan *plan, bool machine_too)
{
    const struct config *config = plan->config;
    json_t *root = json_object();
    json_t *argv = json_array();

    for (size_t i = 0; i < config->argv.count; i++) {
        json_t *word = json_object();

        put_text(word, "word", config->argv.items[i]); /* escaped where it is not UTF-8 */
        json_array_append(argv, json_object_get(word, "word"));
        json_decref(word);
    }
    put_text(root, "schema", "vmrun.check/1");
    put(root, "valid", json_true());
    put_text(root, "config", config->path);
    put_digest(root, "config_sha256", config->sha256);
    put(root, "settings", settings(plan));
    put(root, "argv", argv);
    put(root, "files", files(plan));
    put_text(root, "output", plan->output);
    put_number(root, "host_memory_bytes", plan_host_memory_bytes(plan));
    if (machine_too)
        put(root, "plan", show_plan_make(plan));
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void print_settings(const json_t *list, FILE *to)
{
    const char *section = "";
    const json_t *setting;
    size_t i;

    json_array_foreach(list, i, setting)
    {
        const char *value = text_of(setting, "value");
        int length;

        if (strcmp(section, text_of(setting, "section")) != 0) {
            section = text_of(setting, "section");
            fprintf(to, "\n[%s]\n", section);
        }
        length = fprintf(
            to, "%s%s%s", text_of(setting, "key"), value ? " = " : ": not set", value ? value : "");
        fprintf(to, "%*s  (%s)\n", length < ORIGIN_COLUMN ? ORIGIN_COLUMN - length : 0, "",
            text_of(setting, "where"));
    }
}

static void print_shown(const json_t *shown, FILE *to)
{
    const json_t *file, *plan = json_object_get(shown, "plan");
    char size[32];
    size_t i;

    fprintf(to, "%s: valid\n", text_of(shown, "config"));
    print_settings(json_object_get(shown, "settings"), to);
    fprintf(to, "\nfiles found\n");
    json_array_foreach(json_object_get(shown, "files"), i, file)
    {
        const json_t *bytes = json_object_get(file, "bytes");

        fprintf(to, "%-17s %s", text_of(file, "role"), text_of(file, "path"));
        if (json_is_integer(bytes))
            fprintf(to, " (%lld bytes)\n", (long long)json_integer_value(bytes));
        else
            fprintf(to, " (directory)\n");
    }
    fprintf(to, "%-17s %s (new)\n", "output", text_of(shown, "output"));
    /* Rounded up: "1234567B" tells nobody anything. */
    value_size_text(size,
        align_up((uint64_t)json_integer_value(json_object_get(shown, "host_memory_bytes")), MIB));
    fprintf(to, "host memory needed: %s\n", size);
    if (plan)
        show_plan_print(plan, to);
}

/* Of the task file and the paths in it, nothing may steer a terminal. */
int show_print(const json_t *shown, FILE *to)
{
    uint8_t out[ESCAPE_FACTOR * (SHOWN_CHUNK_BYTES + ESCAPE_CARRY_MAX)];
    struct escape escape = {0};
    AUTO_FREE char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (!memory)
        return -1;
    print_shown(shown, memory);
    if (fclose(memory) != 0)
        return -1;
    for (size_t at = 0; at < size; at += SHOWN_CHUNK_BYTES)
        fwrite(out, 1,
            escape_put(
                &escape, (const uint8_t *)text + at, size_min(size - at, SHOWN_CHUNK_BYTES), out),
            to);
    fwrite(out, 1, escape_flush(&escape, out), to);
    return 0;
}
