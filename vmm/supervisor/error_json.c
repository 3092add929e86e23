/* SPDX-License-Identifier: Apache-2.0 */
/* error_json.c: see error_json.h. The lines are our own: "FILE:LINE: [SECTION] KEY: MESSAGE". */
#include "supervisor/error_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "supervisor/result_parts.h"

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

/* "[SECTION] KEY: " or "[SECTION]: " at *AT. */
static void put_key(json_t *error, const char **at)
{
    const char *close = (*at)[0] == '[' ? strstr(*at, "]") : NULL;
    const char *colon = close ? strstr(close, ": ") : NULL;
    AUTO_FREE char *section = NULL;
    AUTO_FREE char *key = NULL;

    if (colon) {
        section = text_clone(*at + 1, (size_t)(close - *at) - 1);
        if (close[1] == ' ')
            key = text_clone(close + 2, (size_t)(colon - close) - 2);
        *at = colon + 2;
    }
    put_text(error, "section", section);
    put_text(error, "key", key);
}

char *error_json(const struct text_list *errors, const char *config, int exit_code, bool as_event)
{
    json_t *root = json_object(), *list = json_array();
    AUTO_FREE char *dumped = NULL;
    char *text;

    for (size_t i = 0; i < errors->count; i++) {
        const char *at = errors->items[i];
        json_t *error = json_object();

        put_text(error, "text", at);
        put_place(error, &at, config);
        put_key(error, &at);
        put_text(error, "message", at);
        json_array_append_new(list, error);
    }
    if (as_event)
        put_text(root, "event", "error");
    put_text(root, "schema", "vmrun.errors/1");
    put_number(root, "vmrun_exit_code", (uint64_t)exit_code);
    put(root, "errors", list);
    dumped = json_dumps(
        root, (as_event ? JSON_COMPACT : JSON_INDENT(2)) | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);
    must(dumped != NULL);
    text = text_format("%s\n", dumped);
    json_decref(root);
    return text;
}
