/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervised.h: a run of supervise() with fake children, for its tests. Global state, made by
 * set_up() and freed by tear_down(): all that is declared here.
 */
#ifndef TESTS_UNIT_SUPERVISOR_SUPERVISED_H
#define TESTS_UNIT_SUPERVISOR_SUPERVISED_H

#include <stdbool.h>

#include "supervisor/supervise.h"
#include "supervisor/verdict.h"
#include "tests/unit/supervisor/fake_children.h"
#include "tests/unit/unit.h"

extern char root[64]; /* a folder of the test's own; the output directory is root/out */
extern struct config config;
extern struct plan plan;
extern struct disks disks;
extern struct outcome outcome;
extern struct supervision run;
extern struct verdict verdict;
extern int output_fd;
extern struct supervise_room room; /* without a run directory, and without jails */
extern bool image_lasts;       /* its digest may be remembered */
extern int salvage_disks_made; /* how often disks for a second machine were wanted */

int set_up(void **state);
int tear_down(void **state);
/* Run SCRIPT (fake_children.c) with what the test has put into config, and judge it. */
void supervise_script(const char *script);
void assert_verdict(const char *status, int code);
/* The output directory has NAME. */
bool output_has(const char *name);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* main() of a test file: the executable is started for its children too. */
#define SUPERVISED_MAIN(tests)                                                                     \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        (void)argc;                                                                                \
        fake_child(argv[0]);                                                                       \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
