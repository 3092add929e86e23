/* SPDX-License-Identifier: Apache-2.0 */
/* tar_fuzz.c: headers for any path and size, read again as a reader of pax archives does. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "extractor/tar.h"

static void check_sum(const uint8_t *header)
{
    unsigned sum = 8 * ' ';

    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += i < 148 || i >= 156 ? header[i] : 0;
    must(strtoul((const char *)header + 148, NULL, 8) == sum);
    must(memcmp(header + 257,
             "ustar\0"
             "00",
             8) == 0);
}

/* The value of KEY in the records of a pax header; NULL when it is not there. */
static const char *pax_value(const char *records, size_t size, const char *key, size_t *value_bytes)
{
    while (size > 0) {
        char *end;
        size_t length = strtoul(records, &end, 10);
        size_t key_bytes = strlen(key);

        must(length > 0 && length <= size && *end == ' ' && records[length - 1] == '\n');
        if (strncmp(end + 1, key, key_bytes) == 0 && end[1 + key_bytes] == '=') {
            *value_bytes = length - 1 - (size_t)(end + key_bytes + 2 - records);
            return end + key_bytes + 2;
        }
        records += length;
        size -= length;
    }
    return NULL;
}

static void check(const char *path, uint64_t size_bytes, bool is_dir)
{
    static uint8_t headers[TAR_HEADERS_MAX];
    static char right[TAR_PATH_BYTES + 2], name[300];
    size_t used = is_dir ? tar_dir(headers, path) : tar_file(headers, path, 0755, size_bytes);
    const uint8_t *last = headers + used - TAR_BLOCK_BYTES;
    const char *value = name;
    size_t pax_bytes = 0, value_bytes;
    uint64_t size;

    must(used % TAR_BLOCK_BYTES == 0 && used <= sizeof(headers));
    snprintf(right, sizeof(right), "%s%s", path, is_dir ? "/" : "");
    check_sum(last);
    must(last[156] == (is_dir ? '5' : '0'));
    snprintf(name, sizeof(name), "%.155s%s%.100s", last + 345, last[345] ? "/" : "", last);
    value_bytes = strlen(name);
    size = strtoull((const char *)last + 124, NULL, 8);
    if (used > TAR_BLOCK_BYTES) {
        const char *records = (const char *)headers + TAR_BLOCK_BYTES, *found;
        size_t found_bytes;

        check_sum(headers);
        must(headers[156] == 'x');
        pax_bytes = strtoul((const char *)headers + 124, NULL, 8);
        must(used == 2 * TAR_BLOCK_BYTES + pax_bytes + tar_padding(pax_bytes));
        found = pax_value(records, pax_bytes, "path", &found_bytes);
        if (found) {
            value = found;
            value_bytes = found_bytes;
        }
        found = pax_value(records, pax_bytes, "size", &found_bytes);
        if (found)
            size = strtoull(found, NULL, 10);
    }
    must(value_bytes == strlen(right) && memcmp(value, right, value_bytes) == 0);
    must(size == (is_dir ? 0 : size_bytes));
    must((size_bytes + tar_padding(size_bytes)) % TAR_BLOCK_BYTES == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[TAR_PATH_BYTES];

    /* Exported paths are relative, and lines would only confuse the reader here. */
    if (size < 9 || size - 8 >= sizeof(path) || data[8] == '/' ||
        memchr(data + 8, '\0', size - 8) || memchr(data + 8, '\n', size - 8))
        return 0;
    memcpy(path, data + 8, size - 8);
    path[size - 8] = '\0';
    check(path, le64_load(data) & INT64_MAX, false);
    check(path, 0, true);
    return 0;
}
