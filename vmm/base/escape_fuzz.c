/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape_fuzz.c: any output, split at a place that the first byte chooses. The result is UTF-8
 * without controls, and the same as of the output in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/escape.h"

static size_t escape_split(const uint8_t *in, size_t size, size_t step, uint8_t *out)
{
    struct escape escape = {0};
    size_t used = 0;

    for (size_t at = 0; at < size; at += step) {
        used += escape_put(&escape, in + at, size - at < step ? size - at : step, out + used);
        must(escape.carry_bytes <= ESCAPE_CARRY_MAX);
    }
    return used + escape_flush(&escape, out + used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = ESCAPE_FACTOR * (size + ESCAPE_CARRY_MAX);
    uint8_t *whole = malloc(room), *split = malloc(room);
    size_t used;

    must(whole != NULL && split != NULL);
    if (size > 1) {
        used = escape_split(data + 1, size - 1, size, whole);
        must(escape_split(data + 1, size - 1, data[0] ? data[0] : 1, split) == used);
        must(memcmp(whole, split, used) == 0);
        for (size_t at = 0; at < used;) {
            size_t length = text_utf8_length(whole + at, used - at);

            must(length > 0);
            must(whole[at] == '\n' || whole[at] == '\t' ||
                 !text_utf8_is_control(whole + at, length));
            at += length;
        }
    }
    free(whole);
    free(split);
    return 0;
}
