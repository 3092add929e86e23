/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern_fuzz.c: a pattern, a NUL and a path, each of any bytes. What matches is what a slower and
 * plainer way says, character by character with every choice kept; and a path is covered, or above
 * what is meant, or neither, never both.
 */
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "wire/pattern.h"

enum { NAME_MAX_BYTES = 64, PATTERN_MAX_BYTES = 64 };

static size_t character(const char *text, size_t size)
{
    size_t length = text_utf8_length((const uint8_t *)text, size);

    return length ? length : 1;
}

/* Where in the name one may be once the pattern is used up to here: `*` goes on from each place. */
static bool plainly_matches(const char *pattern, size_t size, const char *name, size_t name_bytes)
{
    bool at[NAME_MAX_BYTES + 1] = {true}, next[NAME_MAX_BYTES + 1];

    if (name_bytes > 0 && name[0] == '.' && size > 0 && pattern[0] != '.')
        return false;
    for (size_t p = 0; p < size; p += character(pattern + p, size - p)) {
        memset(next, 0, sizeof(next));
        for (size_t n = 0; n <= name_bytes; n++) {
            size_t taken = n < name_bytes ? character(name + n, name_bytes - n) : 0;

            if (!at[n])
                continue;
            if (pattern[p] == '*') {
                next[n] = true;
                at[n + taken] = true;
            } else if (taken &&
                       (pattern[p] == '?' || (character(pattern + p, size - p) == taken &&
                                                 memcmp(pattern + p, name + n, taken) == 0))) {
                next[n + taken] = true;
            }
        }
        memcpy(at, next, sizeof(at));
    }
    return at[name_bytes];
}

static void try_names(const char *pattern, size_t size, const char *path, size_t path_bytes)
{
    if (memchr(pattern, '/', size) || memchr(path, '/', path_bytes))
        return;
    must(pattern_matches_name(pattern, size, path, path_bytes) ==
         plainly_matches(pattern, size, path, path_bytes));
}

/* What lies below is covered too; what lies above leads there. Both for whole components only. */
static void try_paths(const char *pattern, const char *path, size_t path_bytes)
{
    char below[NAME_MAX_BYTES + 2];
    bool covers = pattern_covers(pattern, path, path_bytes);
    bool leads = pattern_leads(pattern, path, path_bytes);

    must(!(covers && leads) || strcmp(pattern, ".") == 0);
    if (path_bytes == 0 || path[path_bytes - 1] == '/')
        return;
    memcpy(below, path, path_bytes);
    memcpy(below + path_bytes, "/x", 2);
    must(!covers || pattern_covers(pattern, below, path_bytes + 2));
    for (size_t above = path_bytes - 1; leads && above > 0; above--)
        must(path[above] != '/' || pattern_leads(pattern, path, above));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = memchr(data, '\0', size);
    char pattern[PATTERN_MAX_BYTES + 1], path[NAME_MAX_BYTES];
    size_t pattern_bytes, path_bytes;

    if (!nul)
        return 0;
    pattern_bytes = size_min((size_t)(nul - data), PATTERN_MAX_BYTES);
    path_bytes = size_min(size - (size_t)(nul + 1 - data), NAME_MAX_BYTES);
    memcpy(pattern, data, pattern_bytes);
    pattern[pattern_bytes] = '\0';
    memcpy(path, nul + 1, path_bytes);
    try_names(pattern, pattern_bytes, path, path_bytes);
    try_paths(pattern, path, path_bytes);
    return 0;
}
