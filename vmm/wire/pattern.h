/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h: which paths a declared artifact means (supervisor and agent). Pure.
 *
 * A pattern is a relative path. In a component `*` stands for any number of characters and `?` for
 * one; neither stands for '/', nor for a dot that a name begins with, as in a shell. Every other
 * character stands for itself. A byte that is no part of UTF-8 is a character of its own, in names
 * and in patterns. Patterns are the user's, checked by the config; names are hostile bytes.
 */
#ifndef VMM_WIRE_PATTERN_H
#define VMM_WIRE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* True when SIZE bytes of PATTERN have a `*` or `?` in them. */
bool pattern_is_glob(const char *pattern, size_t size);

/* One component against one name. Takes no more steps than the product of the sizes. */
bool pattern_matches_name(
    const char *pattern, size_t pattern_bytes, const char *name, size_t name_bytes);

/* True when PATH is what the pattern means or lies below it; "." means everything. */
bool pattern_covers(const char *pattern, const char *path, size_t path_bytes);

/* True when PATH can be a directory above what the pattern means. */
bool pattern_leads(const char *pattern, const char *path, size_t path_bytes);

#endif
