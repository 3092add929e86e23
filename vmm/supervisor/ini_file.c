/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ini_file.c: see ini_file.h. Global state: the run-time settings of Debian's libinih
 * (ini_use_stack and its siblings), set to the same values at every call.
 */
#include "supervisor/ini_file.h"

#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

struct ini_reading {
    const struct ini_sink *sink;
    const char *next; /* first byte not read yet */
    const char *end;
    unsigned line;
    enum { SECTION_NONE, SECTION_REFUSED, SECTION_KNOWN } section; /* that the lines belong to */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* What makes a byte of the line unacceptable wherever it stands; NULL when all is well. */
static const char *line_bad_byte(const char *line, size_t length)
{
    if (length > INI_LINE_MAX_BYTES)
        return "the line is longer than 32768 bytes; split the value or move it into a file";
    if (memchr(line, '\0', length))
        return "the line holds a NUL byte; is this a text file?";
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\r')
            return "a carriage return inside the line; end lines with LF or CR LF";
        if ((unsigned char)line[i] < 0x20 && line[i] != '\t')
            return "the line holds a control character";
    }
    return NULL;
}

static const char *section_problem(const char *line, size_t length)
{
    const char *close = memchr(line, ']', length);

    if (!close)
        return "the section has no closing ']'";
    if (close + 1 != line + length)
        return "text after the ']' of the section; put it on a line of its own";
    if (close == line + 1)
        return "the section has no name";
    if (length - 2 > INI_NAME_MAX_BYTES)
        return "the name of the section is too long";
    return NULL;
}

/* A mark that inih (';') or a reader (either) would take for the start of a comment. */
static bool is_comment_mark(char c)
{
    return c == ';' || c == '#';
}

/* What is wrong with a value that seems to have a comment behind it; NULL when it has none. */
static const char *comment_problem(const char *value, const char *end)
{
    for (const char *at = value; at < end; at++) {
        if (is_comment_mark(*at) && (at == value || is_space(at[-1])))
            return *at == ';' ? "a ';' after white space would begin a comment; write \\; to mean "
                                "the character, or put the comment on a line of its own"
                              : "a '#' after white space would begin a comment; write \\# to mean "
                                "the character, or put the comment on a line of its own";
    }
    return NULL;
}

static const char *pair_problem(const char *line, size_t length)
{
    const char *end = line + length;
    const char *equals = memchr(line, '=', length);
    const char *colon = memchr(line, ':', length);

    if (!equals)
        return "neither a [section] nor a 'key = value'";
    if (colon && colon < equals)
        return "a ':' before the '='; keys cannot hold one";
    if (equals == line)
        return "there is no key before the '='";
    return comment_problem(equals + 1, end);
}

/* Check one line, without its end. Returns false when it must not reach inih. */
static bool line_check(struct ini_reading *reading, const char *line, size_t length)
{
    const char *problem = line_bad_byte(line, length);
    const char *first = line;

    while (first < line + length && is_space(*first))
        first++;
    if (!problem && first == line + length)
        return false;
    if (!problem && first != line)
        problem = "the line is indented; values cannot be continued on another line";
    if (!problem && is_comment_mark(*line))
        return false;
    while (length > 0 && is_space(line[length - 1]))
        length--;
    if (!problem && *line == '[') {
        problem = section_problem(line, length);
        reading->section = problem ? SECTION_REFUSED : SECTION_KNOWN;
        if (!problem) {
            char name[INI_NAME_MAX_BYTES + 1];

            snprintf(name, sizeof(name), "%.*s", (int)(length - 2), line + 1);
            reading->sink->section(reading->sink->context, reading->line, name);
        }
    } else if (!problem) {
        problem = pair_problem(line, length);
        if (!problem && reading->section == SECTION_NONE)
            problem = "the key stands before any [section]";
        if (!problem && reading->section == SECTION_REFUSED)
            return false; /* inih would count it to the section before */
    }
    if (problem)
        reading->sink->problem(reading->sink->context, reading->line, problem);
    return !problem;
}

/* An ini_reader: the next acceptable line, as fgets() would give it. */
static char *next_line(char *buffer, int size, void *stream)
{
    struct ini_reading *reading = stream;

    while (reading->next < reading->end) {
        const char *line = reading->next;
        size_t left = (size_t)(reading->end - line);
        const char *newline = memchr(line, '\n', left);
        size_t length = newline ? (size_t)(newline - line) : left;

        reading->next = newline ? newline + 1 : reading->end;
        reading->line++;
        if (length > 0 && line[length - 1] == '\r')
            length--;
        if (!line_check(reading, line, length))
            continue;
        must(size > 0 && length < (size_t)size);
        memcpy(buffer, line, length);
        buffer[length] = '\0';
        return buffer;
    }
    return NULL;
}

/* An ini_handler. inih calls it before it asks for the next line, so reading->line is right. */
static int take_pair(void *context, const char *section, const char *key, const char *value)
{
    struct ini_reading *reading = context;
    char plain[INI_LINE_MAX_BYTES + 1];
    size_t used = 0;

    must(strlen(value) < sizeof(plain));
    for (const char *at = value; *at; at++) {
        if (at[0] == '\\' && is_comment_mark(at[1]) && (at == value || is_space(at[-1])))
            at++;
        plain[used++] = *at;
    }
    plain[used] = '\0';
    reading->sink->pair(reading->sink->context, reading->line, section, key, plain);
    return 1;
}

int ini_file_read(const char *bytes, size_t size, const struct ini_sink *sink)
{
    struct ini_reading reading = {.sink = sink, .next = bytes, .end = bytes + size};

    /* A byte order mark means nothing in UTF-8. */
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        reading.next += 3;
    ini_use_stack = false;
    ini_allow_realloc = false;
    ini_initial_alloc = INI_LINE_MAX_BYTES + 8;
    ini_max_line = INI_LINE_MAX_BYTES + 8;
    ini_allow_multiline = false;
    ini_allow_inline_comments = false;
    ini_allow_bom = false;
    ini_allow_no_value = false;
    ini_stop_on_first_error = false;
    /* Our reader refuses every line that inih could refuse; what is left is lack of memory. */
    int failed = ini_parse_stream(next_line, &reading, take_pair, &reading);
    return failed ? -1 : 0;
}
