/* SPDX-License-Identifier: Apache-2.0 */
/* bpf.h: an interpreter of the few instructions that our seccomp programs use. */
#ifndef TESTS_UNIT_BPF_H
#define TESTS_UNIT_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "tests/unit/unit.h"

static inline bool bpf_jump_taken(const struct sock_filter *at, uint32_t a)
{
    switch (at->code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
        return a == at->k;
    case BPF_JMP | BPF_JGT | BPF_K:
        return a > at->k;
    case BPF_JMP | BPF_JSET | BPF_K:
        return a & at->k;
    default:
        fail_msg("unexpected instruction %x", at->code);
        return false;
    }
}

/* What the filter says; the end of the program must be a return. STEPS counts. */
static inline uint32_t bpf_run(
    const struct sock_filter *code, size_t count, const struct seccomp_data *data, unsigned *steps)
{
    uint32_t a = 0;

    for (size_t at = 0; at < count; at++) {
        const struct sock_filter *now = &code[at];

        (*steps)++;
        if (now->code == (BPF_RET | BPF_K))
            return now->k;
        if (now->code == (BPF_LD | BPF_W | BPF_ABS)) {
            assert_true(now->k % 4 == 0 && now->k + 4 <= sizeof(*data));
            memcpy(&a, (const char *)data + now->k, sizeof(a));
        } else if (now->code == (BPF_JMP | BPF_JA)) {
            at += now->k;
        } else {
            at += bpf_jump_taken(now, a) ? now->jt : now->jf;
        }
    }
    fail_msg("the program has an end without a verdict");
    return 0;
}

#endif
