/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: see pattern.h. */
#include "wire/pattern.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"

bool pattern_is_glob(const char *pattern, size_t size)
{
    return memchr(pattern, '*', size) || memchr(pattern, '?', size);
}

/* Bytes of the first character: one where there is none that is whole. */
static size_t pattern_character(const char *text, size_t size)
{
    size_t length = text_utf8_length((const uint8_t *)text, size);

    return length ? length : 1;
}

/* How many bytes of NAME the first character of PATTERN takes; 0 when it is another one. */
static size_t pattern_takes(
    const char *pattern, size_t pattern_bytes, const char *name, size_t name_bytes)
{
    size_t length = pattern_character(name, name_bytes);

    if (pattern_bytes == 0)
        return 0;
    if (pattern[0] == '?')
        return length;
    return pattern_character(pattern, pattern_bytes) == length && !memcmp(pattern, name, length)
               ? length
               : 0;
}

bool pattern_matches_name(
    const char *pattern, size_t pattern_bytes, const char *name, size_t name_bytes)
{
    size_t p = 0, n = 0;
    size_t star = SIZE_MAX, star_name = 0; /* behind the last `*`, and what it has taken up to */

    if (pattern_bytes > 0 && name_bytes > 0 && name[0] == '.' && pattern[0] != '.')
        return false;
    while (n < name_bytes) {
        size_t length = pattern_takes(pattern + p, pattern_bytes - p, name + n, name_bytes - n);

        if (p < pattern_bytes && pattern[p] == '*') {
            star = ++p;
            star_name = n;
        } else if (length > 0) {
            p += pattern[p] == '?' ? 1 : length;
            n += length;
        } else if (star != SIZE_MAX) { /* the last `*` takes one more */
            star_name += pattern_character(name + star_name, name_bytes - star_name);
            n = star_name;
            p = star;
        } else {
            return false;
        }
    }
    while (p < pattern_bytes && pattern[p] == '*')
        p++;
    return p == pattern_bytes;
}

/* Bytes up to the next '/' or to the end. */
static size_t pattern_component(const char *path, size_t size)
{
    const char *slash = memchr(path, '/', size);

    return slash ? (size_t)(slash - path) : size;
}

/*
 * Match component by component as long as both have one. What is left of each goes to
 * *PATTERN_LEFT and *PATH_LEFT; false when a component does not match.
 */
static bool pattern_walk(const char *pattern, const char *path, size_t path_bytes,
    size_t *pattern_left, size_t *path_left)
{
    size_t left = strlen(pattern);

    while (left > 0 && path_bytes > 0) {
        size_t pattern_length = pattern_component(pattern, left);
        size_t length = pattern_component(path, path_bytes);

        if (!pattern_matches_name(pattern, pattern_length, path, length))
            return false;
        pattern_length = size_min(pattern_length + 1, left);
        length = size_min(length + 1, path_bytes);
        pattern += pattern_length;
        left -= pattern_length;
        path += length;
        path_bytes -= length;
    }
    *pattern_left = left;
    *path_left = path_bytes;
    return true;
}

bool pattern_covers(const char *pattern, const char *path, size_t path_bytes)
{
    size_t pattern_left, path_left;

    if (strcmp(pattern, ".") == 0)
        return true;
    return pattern_walk(pattern, path, path_bytes, &pattern_left, &path_left) && pattern_left == 0;
}

bool pattern_leads(const char *pattern, const char *path, size_t path_bytes)
{
    size_t pattern_left, path_left;

    return pattern_walk(pattern, path, path_bytes, &pattern_left, &path_left) && pattern_left > 0 &&
           path_left == 0;
}
