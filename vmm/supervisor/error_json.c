/* SPDX-License-Identifier: Apache-2.0 */
/* error_json.c: see error_json.h. The lines are our own: "FILE:LINE: [SECTION] KEY: MESSAGE". */
#include "supervisor/error_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ini_file.h"
#include "supervisor/json_memory.h"
#include "supervisor/result_parts.h"

enum { NAME_BYTES = 512 };

/* "FILE:12: " or "--set: " or "FILE: " at *AT; moves *AT behind it. */
static void put_place(json_t *error, const char **at, const char *config)
{
    size_t length = config ? strlen(config) : 0;
    json_t *file = NULL, *line = NULL;

    if (strncmp(*at, "--set: ", 7) == 0) {
        file = json_string("--set");
        *at += 7;
    } else if (length > 0 && strncmp(*at, config, length) == 0 && (*at)[length] == ':') {
        char *end = NULL;
        long long number = strtoll(*at + length + 1, &end, 10);

        if (strncmp(end, ": ", 2) == 0 && number > 0) {
            line = json_integer(number);
            *at = end + 2;
        } else if ((*at)[length + 1] == ' ') {
            *at += length + 2;
        }
        file = json_string(config);
    }
    put(error, "file", file ? file : json_null());
    put(error, "line", line ? line : json_null());
}

/* The bytes from START to END, cut to fit. */
static void name_copy(char to[NAME_BYTES], const char *start, const char *end)
{
    snprintf(to, NAME_BYTES, "%.*s", (int)(end - start), start);
}

/* "[SECTION] KEY: " or "[SECTION]: " at *AT. */
static void put_key(json_t *error, const char **at)
{
    const char *close = (*at)[0] == '[' ? strstr(*at, "]") : NULL;
    const char *colon = close ? strstr(close, ": ") : NULL;
    char section[NAME_BYTES], key[NAME_BYTES];
    bool has_key = colon && close[1] == ' ';

    if (colon)
        name_copy(section, *at + 1, close);
    if (has_key)
        name_copy(key, close + 2, colon);
    if (colon)
        *at = colon + 2;
    put_text(error, "section", colon ? section : NULL);
    put_text(error, "key", has_key ? key : NULL);
}

static void add_error(json_t *list, const char *text, const char *config)
{
    json_t *error = json_object();

    put_text(error, "text", text);
    put_place(error, &text, config);
    put_key(error, &text);
    put_text(error, "message", text);
    json_array_append_new(list, error);
}

char *error_json(const struct text_list *errors, const char *config, int exit_code, bool as_event)
{
    json_t *root, *list;
    char *text = NULL;

    json_memory_begin();
    root = json_object();
    list = json_array();
    for (size_t i = 0; i < errors->count; i++)
        add_error(list, errors->items[i], config);
    if (errors->failed)
        add_error(list, "out of memory", config);
    if (as_event)
        put_text(root, "event", "error");
    put_text(root, "schema", "vmrun.errors/1");
    put_number(root, "vmrun_exit_code", (uint64_t)exit_code);
    put(root, "errors", list);
    if (!json_memory_failed())
        text = json_dumps(root,
            (as_event ? JSON_COMPACT : JSON_INDENT(2)) | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);
    json_decref(root);
    return text;
}
