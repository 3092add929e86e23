/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.h: whether this is a build for tests that a sanitizer watches (make asan, make tsan).
 * Its runtime makes system calls and takes address space that no jail would grant, so that there
 * the filters refuse nothing and RLIMIT_AS is void. Nothing but the Makefile's -DVMRUN_SANITIZED
 * makes it so, and that cannot be had of a compiler without a sanitizer. Such a vmrun says so in
 * each result, as given_up.
 */
#ifndef VMM_JAIL_SANITIZED_H
#define VMM_JAIL_SANITIZED_H

#if defined(VMRUN_SANITIZED)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#error "VMRUN_SANITIZED opens the jails: it is for sanitizer builds of clang only"
#endif
#else
#define SANITIZED 0
#endif

#endif
