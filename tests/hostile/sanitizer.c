/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer.c: what the sanitizers of `make asan` and `make tsan` read in place of an environment
 * variable. A report ends the process by a signal, which no verdict but "vmrun failed" allows. The
 * children end without freeing anything, so leaks are the unit tests' to find.
 *
 * The thread sanitizer has a thread of its own, which no seal would reach and the proof of the jail
 * would count: it ends when the sanitizer hears of a sandbox. The linker puts this before
 * jail_seal().
 */
#include <stddef.h>
#include <time.h>

#include "jail/jail.h"

int __real_jail_seal(struct jail *jail, struct err *err) __attribute__((weak));
int __wrap_jail_seal(struct jail *jail, struct err *err);
void __sanitizer_sandbox_on_notify(void *arguments);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "abort_on_error=1:detect_leaks=0:detect_stack_use_after_return=1:handle_segv=1";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:abort_on_error=1";
}

const char *__tsan_default_options(void)
{
    return "halt_on_error=1:abort_on_error=1:die_after_fork=0";
}

int __wrap_jail_seal(struct jail *jail, struct err *err)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};

    __sanitizer_sandbox_on_notify(NULL);
    nanosleep(&moment, NULL); /* it was joined, but /proc may show it a little longer */
    return __real_jail_seal(jail, err);
}
