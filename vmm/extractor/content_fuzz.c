/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_fuzz.c: a file of any bytes. The first byte chooses name and types, the second how long
 * the pieces are: what the file is does not depend on these, and text that is JSON is text.
 */
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "extractor/content.h"

static const char *const names[] = {
    "a.png", "a.jpg", "a.pdf", "a.csv", "a.json", "a.txt", "a", "a.PNG"};

static enum artifact_type judge(
    const char *name, const uint8_t *data, size_t size, size_t piece, uint32_t types, bool *right)
{
    struct content *content = content_begin((const uint8_t *)name, strlen(name), size, types);
    enum artifact_type type;

    for (size_t at = 0; at < size; at += piece)
        content_feed(content, data + at, size_min(piece, size - at));
    *right = content_end(content, &type);
    must(type < ARTIFACT_TYPES);
    return type;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum artifact_type whole, pieces;
    bool whole_right, pieces_right;
    const char *name;
    uint32_t types;

    if (size < 2)
        return 0;
    name = names[data[0] & 7];
    types = (data[0] >> 3) << 1; /* never ARTIFACT_DATA */
    whole = judge(name, data + 2, size - 2, size, types, &whole_right);
    pieces = judge(name, data + 2, size - 2, 1 + data[1] % 64, types, &pieces_right);
    must(whole == pieces && whole_right == pieces_right);
    must(types != 0 || whole_right);
    must(!whole_right || types == 0 || (types & (1U << whole)));
    if (whole == ARTIFACT_JSON || whole == ARTIFACT_CSV)
        must(judge("a.txt", data + 2, size - 2, size, 0, &whole_right) == ARTIFACT_TEXT);
    return 0;
}
