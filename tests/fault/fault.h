/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h: what the interposer (interpose.c, inside the process under test) and the driver
 * (drive.py) tell each other: one small file, mapped by every process that has the interposer.
 *
 * FAULT_STATE names the file. The driver writes `kind` and `at`; the interposer counts every call
 * and makes the one with number `at` of `kind` fail, once, in whichever thread or forked child it
 * happens. With at = 0 it only counts.
 */
#ifndef TESTS_FAULT_FAULT_H
#define TESTS_FAULT_FAULT_H

#include <stdatomic.h>
#include <stdint.h>

enum fault_kind { FAULT_ALLOC, FAULT_OPEN, FAULT_FORK, FAULT_WRITE, FAULT_JAIL, FAULT_KINDS };

/* drive.py reads and writes it by these offsets. */
struct fault_state {
    uint32_t kind;                        /* 0 */
    uint32_t at;                          /* 4 */
    _Atomic uint32_t counts[FAULT_KINDS]; /* 8 */
    uint32_t fired;                       /* 28 */
    int32_t errnum;                       /* 32: what the failed call said */
    uint32_t unused;                      /* 36 */
    uint64_t caller_offset;               /* 40: return address in the file `caller` */
    char call[32];                        /* 48: the function that failed */
    char caller[88];                      /* 80 */
};

_Static_assert(sizeof(struct fault_state) == 168, "drive.py knows the layout");

#endif
