/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c: task.ini to struct config; see config.h. The input is the user's. The keys are in
 * config_keys.c, the rules between keys in config_check.c.
 */
#include "supervisor/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "supervisor/config_check.h"
#include "supervisor/config_keys.h"
#include "supervisor/ini_file.h"
#include "supervisor/nearest.h"

enum { SHOWN_VALUE_BYTES = 100 };

struct config_reading {
    struct config *config;
    struct text_list *problems;
    struct text_list sections; /* seen so far */
    bool skip;                 /* inside a section that was refused */
};

static void section_seen(void *context, unsigned line, const char *name)
{
    struct config_reading *reading = context;
    const char *near = NULL;

    reading->skip = true;
    if (text_list_has(&reading->sections, name)) {
        text_list_addf(reading->problems,
            "%s:%u: [%s]: the section appears twice; put its keys together", reading->config->path,
            line, name);
        return;
    }
    for (size_t i = 0; i < config_key_count; i++) {
        if (strcmp(config_keys[i].section, name) == 0) {
            reading->skip = false;
            text_list_add(&reading->sections, name);
            return;
        }
        near = nearest(near, config_keys[i].section, name);
    }
    text_list_addf(reading->problems, "%s:%u: [%s]: unknown section%s%s%s", reading->config->path,
        line, name, near ? "; did you mean [" : "", near ? near : "", near ? "]?" : "");
}

static void unknown_key(
    struct text_list *problems, const char *where, const char *section, const char *key)
{
    const char *near = NULL, *elsewhere = NULL;
    bool section_known = false;

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *row = &config_keys[i];

        if (strcmp(row->section, section) == 0) {
            section_known = true;
            near = nearest(near, row->key, key);
        } else if (strcmp(row->key, key) == 0) {
            elsewhere = row->section;
        }
    }
    if (!section_known)
        text_list_addf(problems, "%s: [%s] %s: there is no such section", where, section, key);
    else if (elsewhere)
        text_list_addf(problems, "%s: [%s] %s: unknown key here; it belongs to [%s]", where,
            section, key, elsewhere);
    else
        text_list_addf(problems, "%s: [%s] %s: unknown key%s%s%s", where, section, key,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* What SETTING holds becomes a copy of ITEM; without memory it stays as it is. */
static bool setting_replace(struct config_setting *setting, const struct config_item *item)
{
    AUTO_FREE char *key = text_clone(item->key, strlen(item->key));
    AUTO_FREE char *value = text_clone(item->value, strlen(item->value));
    AUTO_FREE char *where = text_clone(item->where, strlen(item->where));

    if (!key || !value || !where)
        return false;
    free(setting->key);
    free(setting->value);
    free(setting->where);
    setting->key = take(&key);
    setting->value = take(&value);
    setting->where = take(&where);
    return true;
}

/*
 * Keep what was written, for --check. A key that is given again is replaced. False without memory.
 */
static bool config_note(
    struct config *config, const struct config_key *row, const struct config_item *item)
{
    size_t number = (size_t)(row - config_keys), at = 0;

    while (at < config->setting_count &&
           (config->settings[at].row != number || strcmp(config->settings[at].key, item->key) != 0))
        at++;
    if (at == config->setting_count) {
        void *grown = reallocarray(config->settings, at + 1, sizeof(*config->settings));

        if (!grown)
            return false;
        config->settings = grown;
        config->settings[at] = (struct config_setting){.row = number};
    }
    if (!setting_replace(&config->settings[at], item))
        return false;
    if (at == config->setting_count)
        config->setting_count++;
    return true;
}

/* One assignment through the table. */
static void config_assign(struct config *config, const char *section,
    const struct config_item *item, struct text_list *problems)
{
    const struct config_key *row = config_key_find(section, item->key);
    struct err err = ERR_INIT;
    char shown[SHOWN_VALUE_BYTES];
    bool free_key;
    char **where;

    if (!row) {
        unknown_key(problems, item->where, section, item->key);
        return;
    }
    free_key = strcmp(row->key, "*") == 0 || strcmp(row->key, "argv.N") == 0;
    where = &config->where[row - config_keys];
    if (*where && !free_key && !item->replaces) {
        text_list_addf(problems, "%s: [%s] %s: set twice; the first is at %s", item->where, section,
            item->key, *where);
        return;
    }
    free(*where);
    *where = text_clone(item->where, strlen(item->where));
    if (!*where) {
        problems->failed = true;
        return;
    }
    if (row->parse(config, row, item, &err) == 0) {
        problems->failed |= !config_note(config, row, item);
        return;
    }
    text_escape(shown, sizeof(shown), item->value, strlen(item->value));
    text_list_addf(
        problems, "%s: [%s] %s: \"%s\": %s", item->where, section, item->key, shown, err.text);
}

static void pair_seen(
    void *context, unsigned line, const char *section, const char *key, const char *value)
{
    struct config_reading *reading = context;
    AUTO_FREE char *where = text_format("%s:%u", reading->config->path, line);
    struct config_item item = {.key = key, .value = value, .where = where};

    reading->problems->failed |= !where;
    if (where && !reading->skip)
        config_assign(reading->config, section, &item, reading->problems);
}

static void problem_seen(void *context, unsigned line, const char *text)
{
    struct config_reading *reading = context;

    text_list_addf(reading->problems, "%s:%u: %s", reading->config->path, line, text);
}

/* "section.key=value" */
static void config_set(struct config *config, const char *set, struct text_list *problems)
{
    AUTO_FREE char *section = text_clone(set, strlen(set));
    char *dot = section ? strchr(section, '.') : NULL;
    char *equals = dot ? strchr(dot, '=') : NULL;
    struct config_item item = {.where = "--set", .replaces = true};

    problems->failed |= !section;
    if (!section)
        return;
    if (!equals || dot == section || equals == dot + 1) {
        text_list_addf(problems, "--set %s: write it as section.key=value", set);
        return;
    }
    *dot = *equals = '\0';
    item.key = dot + 1;
    item.value = equals + 1;
    config_assign(config, section, &item, problems);
}

static void config_fill_defaults(struct config *config, struct text_list *problems)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *row = &config_keys[i];
        struct config_item item = {.key = row->key, .value = row->fallback, .where = "default"};
        struct err err = ERR_INIT;

        if (config->where[i] || !row->fallback)
            continue;
        if (row->parse(config, row, &item, &err) < 0)
            text_list_addf(problems, "default of [%s] %s: %s", row->section, row->key, err.text);
        else
            problems->failed |= !config_note(config, row, &item);
    }
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return text_clone(".", 1);
    return text_clone(path, slash == path ? 1 : (size_t)(slash - path));
}

int config_parse(struct config *config, const char *path, const char *bytes, size_t size,
    const struct text_list *sets, struct text_list *problems)
{
    struct config_reading reading = {.config = config, .problems = problems};
    struct ini_sink sink = {
        .context = &reading, .section = section_seen, .pair = pair_seen, .problem = problem_seen};
    size_t before = problems->count;

    memset(config, 0, sizeof(*config));
    config->path = text_clone(path, strlen(path));
    config->directory = directory_of(path);
    if (!config->path || !config->directory) {
        problems->failed = true;
        return -1;
    }
    digest_memory(config->sha256, bytes, size);
    if (ini_file_read(bytes, size, &sink) < 0 || reading.sections.failed)
        problems->failed = true;
    text_list_free(&reading.sections);
    for (size_t i = 0; i < sets->count; i++)
        config_set(config, sets->items[i], problems);
    config_fill_defaults(config, problems);
    config_check(config, problems);
    return problems->count == before && !problems->failed ? 0 : -1;
}

/* The whole file; at most INI_FILE_MAX_BYTES. */
static int config_read_file(const char *path, char **bytes, size_t *size, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    AUTO_FREE char *buffer = NULL;
    struct stat status;
    ssize_t count;

    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, "%s: cannot open the task file", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, "%s: the task file is not a regular file", path);
    buffer = malloc(INI_FILE_MAX_BYTES + 1);
    if (!buffer)
        return err_sys(err, "%s: cannot read the task file", path);
    count = fd_read_all(fd, buffer, INI_FILE_MAX_BYTES + 1);
    if (count < 0)
        return err_sys(err, "%s: cannot read the task file", path);
    if (count > INI_FILE_MAX_BYTES)
        return err_set(err, "%s: the task file is larger than 1 MiB", path);
    *bytes = take(&buffer);
    *size = (size_t)count;
    return 0;
}

int config_load(struct config *config, const char *path, const struct text_list *sets,
    struct text_list *problems)
{
    AUTO_FREE char *bytes = NULL;
    struct err err = ERR_INIT;
    size_t size = 0;

    memset(config, 0, sizeof(*config));
    if (config_read_file(path, &bytes, &size, &err) < 0) {
        text_list_add(problems, err.text);
        return -1;
    }
    return config_parse(config, path, bytes, size, sets, problems);
}

void config_free(struct config *config)
{
    char *texts[] = {config->path, config->directory, config->name, config->command,
        config->workdir, config->stdin_path, config->hostname, config->image, config->kernel,
        config->initramfs, config->disk_directory, config->output};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    text_list_free(&config->argv);
    text_list_free(&config->env);
    text_list_free(&config->collect);
    text_list_free(&config->required);
    text_list_free(&config->unpack);
    text_list_free(&config->optional);
    for (size_t i = 0; i < config->input_count; i++) {
        free(config->inputs[i].destination);
        free(config->inputs[i].source);
        free(config->inputs[i].where);
    }
    for (size_t i = 0; i < CONFIG_KEYS_MAX; i++)
        free(config->where[i]);
    for (size_t i = 0; i < config->setting_count; i++) {
        free(config->settings[i].key);
        free(config->settings[i].value);
        free(config->settings[i].where);
    }
    free(config->settings);
    memset(config, 0, sizeof(*config));
}

const char *config_where(const struct config *config, const char *section, const char *key)
{
    const struct config_key *row = config_key_find(section, key);

    must(row != NULL);
    return config->where[row - config_keys];
}

char *config_path(const struct config *config, const char *path)
{
    if (path[0] == '/' || strcmp(config->directory, ".") == 0)
        return text_clone(path, strlen(path));
    return text_format("%s/%s", config->directory, path);
}

int config_err(const struct config *config, struct err *err, const char *section, const char *key,
    const char *format, ...)
{
    const char *where = config_where(config, section, key);
    char message[ERR_TEXT_BYTES]; /* not straight into ERR: an argument may be its old text */
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return err_set(err, "%s: [%s] %s: %s", where ? where : config->path, section, key, message);
}
