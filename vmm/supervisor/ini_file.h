/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ini_file.h: reading task.ini (supervisor; the input is the user's).
 *
 * libinih splits lines into names and values. A line reader of ours stands in front of it, because
 * inih on its own cuts or changes text without a word: lines longer than its buffer, indented lines
 * that continue a value, what follows " ;", the first ':' as a separator, anything behind "[name]".
 * Each of these is refused here with its line number; so is " #", which inih would keep and whoever
 * wrote it meant as a comment.
 */
#ifndef VMM_SUPERVISOR_INI_FILE_H
#define VMM_SUPERVISOR_INI_FILE_H

#include <stddef.h>

enum {
    INI_FILE_MAX_BYTES = 1 << 20,
    INI_LINE_MAX_BYTES = 32768, /* without the line end */
    INI_NAME_MAX_BYTES = 40,    /* of a section; inih keeps 49 */
};

/* Who is told what the file holds, in the order of its lines. Strings live during the call only. */
struct ini_sink {
    void *context;
    void (*section)(void *context, unsigned line, const char *name);
    void (*pair)(
        void *context, unsigned line, const char *section, const char *key, const char *value);
    void (*problem)(void *context, unsigned line, const char *text);
};

/* Read the whole of BYTES; every problem is reported, not only the first. */
int ini_file_read(const char *bytes, size_t size, const struct ini_sink *sink);

#endif
