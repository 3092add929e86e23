/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: documentation as lines, for tests that compare it with the code. */
#ifndef TESTS_UNIT_SUPERVISOR_PAGES_H
#define TESTS_UNIT_SUPERVISOR_PAGES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

enum { PAGE_BYTES_MAX = 1 << 18, PAGE_LINES_MAX = 4096 };

struct page {
    const char *path;
    char text[PAGE_BYTES_MAX + 1]; /* whole */
    char cut[PAGE_BYTES_MAX + 1];  /* the same, cut into LINES */
    char *lines[PAGE_LINES_MAX];
    size_t line_count;
};

static struct page page;
static size_t faults;

/* Tests run in the top directory of the tree. */
static void page_read(const char *path)
{
    FILE *file = fopen(path, "re");
    size_t size;
    char *rest = page.cut;

    page.path = path;
    page.line_count = 0;
    if (!file)
        fail_msg("%s cannot be opened", path);
    size = fread(page.text, 1, PAGE_BYTES_MAX, file);
    fclose(file);
    assert_true(size > 0 && size < PAGE_BYTES_MAX);
    page.text[size] = '\0';
    memcpy(page.cut, page.text, size + 1);
    while (rest) {
        assert_true(page.line_count < PAGE_LINES_MAX);
        page.lines[page.line_count++] = strsep(&rest, "\n");
    }
}

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tell every difference, not only the first: whoever adds a key or an option wants them all. */
static void complain(const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_error("%s: %s\n", page.path, text);
    faults++;
}

static void no_complaints(void)
{
    size_t count = faults;

    faults = 0;
    if (count > 0)
        fail_msg("%s: %zu differences, see above", page.path, count);
}

#endif
