/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powers_test.c: calls that a run may show or not, as its heap happens to lie. That nothing else
 * passes is tested by tests/jail/run.
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

/* realloc() of a block that malloc() has mapped: from 128 KiB on, and smaller ones never. */
static void a_large_block_may_grow(void **state)
{
    const long grow[4] = {0, 0x21000, 0x41000, MREMAP_MAYMOVE};
    const long elsewhere[4] = {0, 0x21000, 0x41000, MREMAP_MAYMOVE | MREMAP_FIXED};

    (void)state;
    assert_true(passes(SYS_mremap, grow));
    assert_false(passes(SYS_mremap, elsewhere));
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
    cmocka_unit_test(a_large_block_may_grow),
    cmocka_unit_test(no_memory_becomes_code),
};

UNIT_MAIN(tests)
