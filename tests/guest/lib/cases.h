/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h: tables of cases, run one after the other in one boot, reported as TAP. A case names the
 * section of virtio 1.2 (or the part of the contract) that says what its right answer is. After
 * each one the device must serve a correct request.
 */
#ifndef TESTS_GUEST_LIB_CASES_H
#define TESTS_GUEST_LIB_CASES_H

#include "lib/guest.h"

struct guest_case {
    const char *name;
    const char *rule;
    void (*run)(unsigned argument);
    unsigned argument;
};

/* Run all; SERVE (may be NULL) is a correct use of the device, with expectations of its own. */
void cases_run(const struct guest_case *cases, size_t count, void (*serve)(void));
/* The plan, once, behind all tables. */
void cases_end(void);

/* The first that is not met is what the case is reported with. */
void expect(bool met, const char *what);
void expect_equal(const char *what, uint64_t got, uint64_t wanted);

#endif
