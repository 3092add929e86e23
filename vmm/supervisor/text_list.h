/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.h: a growing list of owned strings (supervisor). */
#ifndef VMM_SUPERVISOR_TEXT_LIST_H
#define VMM_SUPERVISOR_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct text_list {
    char **items; /* count of them, then a NULL, so that it can serve as argv; NULL when empty */
    size_t count;
};

/* Append a copy of TEXT. Out of memory ends the process: the supervisor cannot go on without it. */
void text_list_add(struct text_list *list, const char *text);
void text_list_addf(struct text_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool text_list_has(const struct text_list *list, const char *text);
/* Leaves the empty list. */
void text_list_free(struct text_list *list);

/* printf into fresh memory; never NULL. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A copy of LENGTH bytes of TEXT, terminated; never NULL. */
char *text_clone(const char *text, size_t length);

#endif
