/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: see fold.h. UAX #15 (normal forms) and CaseFolding.txt, statuses C and S. */
#include "extractor/fold.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "extractor/fold_table.h"

/* Hangul is computed: The Unicode Standard, 3.12. */
enum {
    HANGUL_FIRST = 0xac00,
    HANGUL_COUNT = 11172,
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11a7,
    JAMO_V_COUNT = 21,
    JAMO_T_COUNT = 28,
};

/* One character of LENGTH bytes, which text_utf8_length() has judged. */
static uint32_t fold_code_point(const uint8_t *bytes, size_t length)
{
    uint32_t value = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);

    for (size_t i = 1; i < length; i++)
        value = value << 6 | (bytes[i] & 0x3f);
    return value;
}

static const struct fold_decomposition *fold_find(uint32_t code)
{
    size_t low = 0, high = fold_decomposition_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (fold_decompositions[middle].from == code)
            return &fold_decompositions[middle];
        if (fold_decompositions[middle].from < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool fold_is_mark(uint32_t code)
{
    size_t low = 0, high = fold_mark_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (code < fold_marks[middle].first)
            high = middle;
        else if (code > fold_marks[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

/* The runs of step 2 lie between each other, so all that begin before CODE are looked at. */
static uint32_t fold_case(uint32_t code)
{
    for (size_t i = 0; i < fold_case_count && fold_cases[i].first <= code; i++) {
        const struct fold_case *run = &fold_cases[i];

        if (code <= run->last && (code - run->first) % run->step == 0)
            return (uint32_t)((int32_t)code + run->add);
    }
    return code;
}

struct fold {
    uint32_t *to;
    size_t count;
};

/* Append; a mark goes before the greater marks that it follows. */
static void fold_append(struct fold *fold, uint32_t code)
{
    size_t at = fold->count++;

    must(at < FOLD_MAX);
    while (
        fold_is_mark(code) && at > 0 && fold->to[at - 1] > code && fold_is_mark(fold->to[at - 1])) {
        fold->to[at] = fold->to[at - 1];
        at--;
    }
    fold->to[at] = code;
}

static void fold_hangul(struct fold *fold, uint32_t code)
{
    uint32_t index = code - HANGUL_FIRST;

    fold_append(fold, JAMO_L + index / (JAMO_V_COUNT * JAMO_T_COUNT));
    fold_append(fold, JAMO_V + index % (JAMO_V_COUNT * JAMO_T_COUNT) / JAMO_T_COUNT);
    if (index % JAMO_T_COUNT)
        fold_append(fold, JAMO_T + index % JAMO_T_COUNT);
}

/* Decompose, fold case, and decompose what that made. The table has no cycle, and few steps. */
static void fold_character(struct fold *fold, uint32_t code)
{
    uint32_t pending[8] = {code};
    size_t count = 1;

    while (count > 0) {
        const struct fold_decomposition *found;
        uint32_t next = pending[--count], folded;

        if (next >= HANGUL_FIRST && next < HANGUL_FIRST + HANGUL_COUNT) {
            fold_hangul(fold, next);
            continue;
        }
        found = fold_find(next);
        folded = found ? next : fold_case(next);
        must(count + 2 <= sizeof(pending) / sizeof(pending[0]));
        if (found && found->second)
            pending[count++] = found->second;
        if (found)
            pending[count++] = found->first;
        else if (folded != next)
            pending[count++] = folded;
        else
            fold_append(fold, next);
    }
}

size_t fold_name(uint32_t to[FOLD_MAX], const uint8_t *component, size_t size)
{
    struct fold fold = {.to = to};
    size_t at = 0;

    must(size <= NAME_COMPONENT_MAX_BYTES);
    while (at < size) {
        size_t length = text_utf8_length(component + at, size - at);

        must(length > 0);
        fold_character(&fold, fold_code_point(component + at, length));
        at += length;
    }
    return fold.count;
}
