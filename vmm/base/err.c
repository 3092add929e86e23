/* SPDX-License-Identifier: Apache-2.0 */
/* err.c: see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool err_is_set(const struct err *err)
{
    return err->text[0] != '\0';
}

/* A message that does not fit is cut: better a short reason than none. */
__attribute__((format(printf, 3, 0))) static void err_format(
    char *text, size_t size, const char *format, va_list args)
{
    int length = vsnprintf(text, size, format, args);

    if (length < 0)
        snprintf(text, size, "(message could not be formatted)");
}

int err_set(struct err *err, const char *format, ...)
{
    va_list args;

    err->errnum = 0;
    va_start(args, format);
    err_format(err->text, sizeof(err->text), format, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, const char *format, ...)
{
    int saved = errno;
    va_list args;
    size_t used;

    va_start(args, format);
    err_format(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(saved));
    err->errnum = saved;
    return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
    char inner[ERR_TEXT_BYTES];
    va_list args;
    size_t used;

    memcpy(inner, err->text, sizeof(inner));
    va_start(args, format);
    err_format(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
    return -1;
}

int err_remedy(struct err *err, const char *remedy)
{
    size_t used = strlen(err->text);

    snprintf(err->text + used, sizeof(err->text) - used, "; %s", remedy);
    return -1;
}

int err_exit_code(const struct err *err)
{
    return err->errnum > 0 && err->errnum < 256 ? err->errnum : EXIT_FAILURE;
}

void must_failed(const char *file, int line, const char *expr)
{
    fprintf(stderr, "vmrun: internal error: %s:%d: %s\n", file, line, expr);
    /* Not abort(): its system calls are none that a jail allows, and a bug would look like that. */
    __builtin_trap();
}
