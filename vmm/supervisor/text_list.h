/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.h: a growing list of owned strings (supervisor). */
#ifndef VMM_SUPERVISOR_TEXT_LIST_H
#define VMM_SUPERVISOR_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct text_list {
    char **items; /* count of them, then a NULL, so that it can serve as argv; NULL when empty */
    size_t count;
    bool failed; /* there was no memory for one: the list is not complete */
};

/* Append a copy of TEXT. Without memory `failed` is set instead, and the list stays as it is. */
void text_list_add(struct text_list *list, const char *text);
void text_list_addf(struct text_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same where an incomplete list is of no use: returns -1 and sets ERR. */
int text_list_keep(struct text_list *list, const char *text, struct err *err);
bool text_list_has(const struct text_list *list, const char *text);
/* Leaves the empty list. */
void text_list_free(struct text_list *list);

/* printf into fresh memory; NULL, with errno, when there is none. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A copy of LENGTH bytes of TEXT, terminated; NULL, with errno, without memory. */
char *text_clone(const char *text, size_t length);

#endif
