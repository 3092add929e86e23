/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.c: see text_list.h. */
#include "supervisor/text_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

/* OWNED may be NULL: there was no memory for it. */
static void text_list_append(struct text_list *list, char *owned)
{
    char **items = owned ? reallocarray(list->items, list->count + 2, sizeof(*items)) : NULL;

    if (!items) {
        free(owned);
        list->failed = true;
        return;
    }
    items[list->count] = owned;
    items[list->count + 1] = NULL;
    list->items = items;
    list->count++;
}

void text_list_add(struct text_list *list, const char *text)
{
    text_list_append(list, text_clone(text, strlen(text)));
}

void text_list_addf(struct text_list *list, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    text_list_append(list, length < 0 ? NULL : text);
}

int text_list_keep(struct text_list *list, const char *text, struct err *err)
{
    text_list_add(list, text);
    return list->failed ? err_set(err, "out of memory") : 0;
}

bool text_list_has(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], text) == 0)
            return true;
    }
    return false;
}

void text_list_free(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

char *text_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    return length < 0 ? NULL : text;
}

char *text_clone(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
