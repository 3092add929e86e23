/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the smoke test's PID 1 share.
 */
#ifndef KERNEL_CONFIG_SMOKE_H
#define KERNEL_CONFIG_SMOKE_H

#include <stddef.h>

/* A check returns 0, or -1 with errno as the failed call left it; zero errno: a wrong answer. */
struct check {
    const char *name;
    int (*run)(void);
};

/* smoke-programs.c: what programs expect of the kernel, and what they must not find. */
extern const struct check program_checks[];
extern const size_t program_check_count;

/* smoke-init.c */

/* Sets errno to zero and returns -1: the call worked, its answer is not the right one. */
int wrong(void);

/* Reads the start of a file as a string. Returns 0, or -1 with errno. */
int read_text(const char *path, char *text, size_t size);

/* mount(2) on a directory that is made when it is missing. */
int mount_on(const char *type, const char *source, const char *target, unsigned long flags,
    const char *data);

#endif
