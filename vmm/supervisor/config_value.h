/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_value.h: one value of task.ini from its text (supervisor; the input is the user's). Each
 * returns 0, or -1 with an error that says what would be right.
 */
#ifndef VMM_SUPERVISOR_CONFIG_VALUE_H
#define VMM_SUPERVISOR_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "supervisor/text_list.h"

/* "512M": a whole number and one of B, K, M, G, T (powers of 1024). The unit must be there. */
int value_size(const char *text, uint64_t *bytes, struct err *err);

/* "30s": a whole number and one of ms, s, m, h. The unit must be there. */
int value_duration(const char *text, uint64_t *ns, struct err *err);

/* A decimal number without sign or unit. */
int value_count(const char *text, uint64_t *count, struct err *err);

/* 64 hexadecimal digits, lower or upper case. */
int value_sha256(const char *text, uint8_t digest[32], struct err *err);

/*
 * Split as a POSIX shell would, but expand nothing: blanks separate; '...' is literal; inside "..."
 * a backslash escapes $ ` " \ only; outside it escapes any byte. At least one word.
 */
int value_words(const char *text, struct text_list *words, struct err *err);

/* Comma-separated, blanks around items dropped; an empty item is an error; empty TEXT is none. */
int value_list(const char *text, struct text_list *items, struct err *err);

/*
 * A path in the guest below /task: relative, or absolute beginning with /task/. CLEAN becomes the
 * part below /task without "." and doubled slashes. ".." is refused.
 */
int value_task_path(const char *text, char **clean, struct err *err);

/* An absolute path in the guest. */
int value_guest_path(const char *text, struct err *err);

/* The text of a size or a duration in its largest exact unit: "512M", "90s". TO has 32 bytes. */
void value_size_text(char to[32], uint64_t bytes);
void value_duration_text(char to[32], uint64_t ns);

#endif
