/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h: cmocka with the headers that it wants before itself. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* int main() of a test file: run the array TESTS. */
#define UNIT_MAIN(tests)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
