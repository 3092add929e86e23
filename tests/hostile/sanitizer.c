/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer.c: what the sanitizers of `make asan` and `make tsan` read in place of an environment
 * variable. A report ends the process by a signal, which no verdict but "vmrun failed" allows. The
 * children end without freeing anything, so leaks are the unit tests' to find.
 */
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
