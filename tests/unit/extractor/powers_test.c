/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powers_test.c: what a call may ask for. That nothing else passes is tested by tests/jail/run.
 */
#include "extractor/powers.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/unit/jail/behind_filter.h"
#include "tests/unit/unit.h"

static bool passes(long number, const long args[4])
{
    return passes_filter(extractor_powers.threads[0], SYS_exit_group, number, args);
}

static void no_memory_becomes_code(void **state)
{
    const long data[4] = {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS};
    const long code[4] = {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS};
    const long late[4] = {0, 4096, PROT_EXEC};

    (void)state;
    assert_true(passes(SYS_mmap, data));
    assert_false(passes(SYS_mmap, code));
    assert_false(passes(SYS_mprotect, late));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_memory_becomes_code),
};

UNIT_MAIN(tests)
