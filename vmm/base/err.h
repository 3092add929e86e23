/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h: the one error value of the project (all processes, the guest agent too).
 *
 * A fallible function takes `struct err *` last and returns -1 or NULL after it has set it, once,
 * at the place where the failure happened, with what was tried on what. Callers add what they were
 * doing with err_wrap(). Only main.c prints. The text is one line; bytes that came from a guest are
 * escaped by whoever puts them in.
 */
#ifndef VMM_BASE_ERR_H
#define VMM_BASE_ERR_H

#include <stdbool.h>

enum { ERR_TEXT_BYTES = 1024 };

struct err {
    int errnum; /* errno of the failed call, 0 when no call failed */
    char text[ERR_TEXT_BYTES];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .errnum = 0, .text = ""                                                                    \
    }

/* True once an error was set. */
bool err_is_set(const struct err *err);

/* Set a message. Returns -1, so that callers can `return err_set(...)`. */
int err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Set a message and append ": " and strerror(errno). errno is kept in err->errnum. Returns -1. */
int err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put "WHAT: " in front of the message. Returns -1. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put "; REMEDY" behind the message. errnum stays. Returns -1. */
int err_remedy(struct err *err, const char *remedy);

/*
 * What a child of the supervisor exits with when it failed and may not be able to say more: the
 * errno of the call that failed, else 1.
 */
int err_exit_code(const struct err *err);

/*
 * must(expr): what only a bug of ours can break. Always compiled, no side effects in EXPR. Never
 * used on a value that a guest, a user or a file chose. Prints file, line and expression, then
 * dies of SIGILL.
 */
#define must(expr) ((expr) ? (void)0 : must_failed(__FILE__, __LINE__, #expr))
_Noreturn void must_failed(const char *file, int line, const char *expr);

#endif
