/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importing.h: inputs of a test and the archive that they are packed into. Global state, made by
 * set_up() and freed by tear_down().
 */
#ifndef TESTS_UNIT_SUPERVISOR_IMPORTING_H
#define TESTS_UNIT_SUPERVISOR_IMPORTING_H

#include <sys/types.h>

#include "supervisor/import.h"
#include "tests/unit/unit.h"

extern char root[64]; /* a folder of the test's own */
extern struct config config;
extern int sources[CONFIG_INPUTS_MAX]; /* of its inputs */
extern int archive;
extern struct err err;

int set_up(void **state);
int tear_down(void **state);
/* The path of NAME in the root; the caller frees it. */
char *in_root(const char *name);
void make_file(const char *name, const char *content, mode_t mode);
void make_directory(const char *name);
/* NAME in the root becomes DESTINATION. */
void add_input(const char *destination, const char *name);
/* Packing fails, and says MESSAGE. */
void assert_refused(const char *message);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
