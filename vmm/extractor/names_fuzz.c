/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_fuzz.c: a path of any bytes but NUL: a good one has only components that can be told from
 * "." and "..", and the fold of a plain component is that of the same one in the other case.
 */
#include <string.h>

#include "extractor/fold.h"
#include "extractor/names.h"

static uint8_t other_case(uint8_t byte)
{
    bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');

    return letter ? byte ^ 0x20 : byte;
}

static void fold_both(const uint8_t *component, size_t size)
{
    static uint32_t fold[FOLD_MAX], other[FOLD_MAX];
    uint8_t swapped[NAME_COMPONENT_MAX_BYTES];
    size_t count = fold_name(fold, component, size);

    must(count > 0 && count <= FOLD_MAX);
    for (size_t i = 0; i < size; i++)
        swapped[i] = other_case(component[i]);
    must(fold_name(other, swapped, size) == count);
    must(memcmp(fold, other, count * sizeof(fold[0])) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    size_t at = 0;

    if (size == 0 || size > 4096 || memchr(data, '\0', size))
        return 0;
    if (name_judge(data, size, NAME_DEPTH_MAX, &err) != NAME_GOOD)
        return 0;
    must(!err_is_set(&err) && size <= NAME_MAX_BYTES);
    while (at < size) {
        size_t length = name_component(data + at, size - at);

        must(length > 0 && length <= NAME_COMPONENT_MAX_BYTES);
        must(!(length <= 2 && memcmp(data + at, "..", length) == 0));
        if (component_is_plain(data + at, length))
            fold_both(data + at, length);
        at += length + 1;
    }
    return 0;
}
