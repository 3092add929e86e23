/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c: see tar.h. */
#include "extractor/tar.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Offsets and sizes of the fields of a ustar header. */
enum {
    TAR_NAME = 0,
    TAR_NAME_BYTES = 100,
    TAR_MODE = 100,
    TAR_UID = 108,
    TAR_GID = 116,
    TAR_SIZE = 124,
    TAR_MTIME = 136,
    TAR_CHECKSUM = 148,
    TAR_TYPE = 156,
    TAR_MAGIC = 257,
    TAR_PREFIX = 345,
    TAR_PREFIX_BYTES = 155,
};

#define TAR_SIZE_MAX 077777777777ULL
#define TAR_PAX_NAME "pax"

/* WIDTH - 1 octal digits and a NUL. */
static void tar_octal(uint8_t *field, size_t width, uint64_t value)
{
    field[width - 1] = '\0';
    for (size_t i = width - 1; i-- > 0; value /= 8)
        field[i] = (uint8_t)('0' + value % 8);
}

/* Where PATH is cut so that both parts fit their fields: 0 for not at all, SIZE_MAX when it cannot.
 */
static size_t tar_cut(const char *path, size_t length)
{
    if (length <= TAR_NAME_BYTES)
        return 0;
    if (length > TAR_PREFIX_BYTES + 1 + TAR_NAME_BYTES)
        return SIZE_MAX;
    for (size_t at = length - TAR_NAME_BYTES - 1; at <= TAR_PREFIX_BYTES && at + 1 < length; at++) {
        if (path[at] == '/')
            return at;
    }
    return SIZE_MAX;
}

static void tar_header(uint8_t header[TAR_BLOCK_BYTES], const char *path, size_t length, char type,
    uint32_t mode, uint64_t size_bytes)
{
    size_t cut = tar_cut(path, length);
    size_t prefix = cut == SIZE_MAX ? 0 : cut;
    size_t skip = prefix ? prefix + 1 : 0;
    unsigned sum = 0;

    memset(header, 0, TAR_BLOCK_BYTES);
    memcpy(header + TAR_PREFIX, path, prefix);
    /* With a pax header in front this name is not looked at: what fits of it will do. */
    memcpy(header + TAR_NAME, path + skip,
        length - skip < TAR_NAME_BYTES ? length - skip : TAR_NAME_BYTES);
    tar_octal(header + TAR_MODE, 8, mode);
    tar_octal(header + TAR_UID, 8, 0);
    tar_octal(header + TAR_GID, 8, 0);
    tar_octal(header + TAR_SIZE, 12, size_bytes <= TAR_SIZE_MAX ? size_bytes : 0);
    tar_octal(header + TAR_MTIME, 12, 0);
    header[TAR_TYPE] = (uint8_t)type;
    memcpy(header + TAR_MAGIC,
        "ustar\0"
        "00",
        8);
    memset(header + TAR_CHECKSUM, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += header[i];
    tar_octal(header + TAR_CHECKSUM, 7, sum);
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts itself too. Returns LENGTH. */
static size_t tar_record(char *to, size_t room, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3; /* blank, '=', newline */
    size_t length = rest + 1;
    int written;

    for (size_t digits = 1, limit = 10; length >= limit; digits++, limit *= 10)
        length = rest + digits + 1;
    written = snprintf(to, room, "%zu %s=%s\n", length, key, value);
    must(written == (int)length && length < room);
    return length;
}

size_t tar_padding(uint64_t size_bytes)
{
    return (size_t)((TAR_BLOCK_BYTES - size_bytes % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES);
}

/* The pax header, when one is needed; returns its bytes. */
static size_t tar_extended(
    uint8_t headers[TAR_HEADERS_MAX], const char *path, size_t length, uint64_t size_bytes)
{
    char *records = (char *)headers + TAR_BLOCK_BYTES;
    size_t room = TAR_HEADERS_MAX - 2 * TAR_BLOCK_BYTES, used = 0;
    char number[24];

    if (tar_cut(path, length) == SIZE_MAX)
        used += tar_record(records, room, "path", path);
    if (size_bytes > TAR_SIZE_MAX) {
        snprintf(number, sizeof(number), "%llu", (unsigned long long)size_bytes);
        used += tar_record(records + used, room - used, "size", number);
    }
    if (used == 0)
        return 0;
    memset(records + used, 0, tar_padding(used));
    tar_header(headers, TAR_PAX_NAME, strlen(TAR_PAX_NAME), 'x', 0644, used);
    return TAR_BLOCK_BYTES + used + tar_padding(used);
}

static size_t tar_entry(uint8_t headers[TAR_HEADERS_MAX], const char *path, char type,
    uint32_t mode, uint64_t size_bytes)
{
    size_t length = strlen(path);
    size_t used;

    must(length > 0 && length <= TAR_PATH_BYTES);
    used = tar_extended(headers, path, length, size_bytes);
    tar_header(headers + used, path, length, type, mode, size_bytes);
    return used + TAR_BLOCK_BYTES;
}

size_t tar_file(
    uint8_t headers[TAR_HEADERS_MAX], const char *path, uint32_t mode, uint64_t size_bytes)
{
    return tar_entry(headers, path, '0', mode, size_bytes);
}

size_t tar_dir(uint8_t headers[TAR_HEADERS_MAX], const char *path)
{
    char slashed[TAR_PATH_BYTES + 1];
    int length = snprintf(slashed, sizeof(slashed), "%s/", path);

    must(length > 0 && (size_t)length < sizeof(slashed));
    return tar_entry(headers, slashed, '5', 0755, 0);
}
