/* SPDX-License-Identifier: Apache-2.0 */
/* tar_pax.c: see tar_pax.h. Every byte is hostile. */
#include "tar_pax.h"

#include <string.h>

#include "tar.h"

int tar_pax_text(const uint8_t *bytes, size_t size, char *to, bool *present, struct err *err)
{
    if (size > 0 && bytes[size - 1] == '\0')
        size--;
    if (size == 0 || memchr(bytes, '\0', size))
        return err_set(err, "a name in the archive is empty or holds a NUL byte");
    if (size > TAR_NAME_MAX_BYTES)
        return err_set(err, "a name in the archive is longer than %d bytes", TAR_NAME_MAX_BYTES);
    memcpy(to, bytes, size);
    to[size] = '\0';
    *present = true;
    return 0;
}

/* A decimal number that ends with its bytes, below 2^63. */
static bool pax_number(const uint8_t *bytes, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9' || *value > (INT64_MAX - 9) / 10)
            return false;
        *value = *value * 10 + (uint64_t)(bytes[i] - '0');
    }
    return size > 0;
}

static bool pax_key_is(const uint8_t *key, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(key, word, size) == 0;
}

static int pax_take(struct tar_pax *pax, const uint8_t *key, size_t key_size, const uint8_t *value,
    size_t size, char *name, char *target, struct err *err)
{
    static const char sparse[] = "GNU.sparse.";

    if (pax_key_is(key, key_size, "path"))
        return tar_pax_text(value, size, name, &pax->has_path, err);
    if (pax_key_is(key, key_size, "linkpath"))
        return tar_pax_text(value, size, target, &pax->has_link, err);
    if (pax_key_is(key, key_size, "size")) {
        pax->has_size = true;
        if (!pax_number(value, size, &pax->size))
            return err_set(err, "the archive is damaged: a size is not a number");
    }
    if (key_size >= strlen(sparse) && memcmp(key, sparse, strlen(sparse)) == 0)
        return err_set(err, "the archive has sparse files, which are not supported; pack it anew");
    return 0;
}

/*
 * One record, "LENGTH KEY=VALUE\n" with the length of all of it. Returns the length, 0 when it is
 * none.
 */
static size_t pax_split(const uint8_t *bytes, size_t size, const uint8_t **key, size_t *key_size,
    const uint8_t **value, size_t *value_size)
{
    const uint8_t *space = memchr(bytes, ' ', size);
    uint64_t length;
    const uint8_t *equals;

    if (!space || !pax_number(bytes, (size_t)(space - bytes), &length) || length > size)
        return 0;
    *key = space + 1;
    if (length < (size_t)(*key - bytes) + 3 || bytes[length - 1] != '\n')
        return 0;
    equals = memchr(*key, '=', (size_t)length - (size_t)(*key - bytes));
    if (!equals || equals == *key)
        return 0;
    *key_size = (size_t)(equals - *key);
    *value = equals + 1;
    *value_size = (size_t)length - 1 - (size_t)(*value - bytes);
    return (size_t)length;
}

int tar_pax_read(struct tar_pax *pax, const uint8_t *bytes, size_t size, bool global, char *name,
    char *target, struct err *err)
{
    while (size > 0) {
        struct tar_pax said = *pax;
        const uint8_t *key, *value;
        size_t key_size, value_size;
        size_t length = pax_split(bytes, size, &key, &key_size, &value, &value_size);

        if (length == 0)
            return err_set(err, "the archive is damaged: a pax header is malformed");
        if (global)
            said = (struct tar_pax){0};
        if (pax_take(&said, key, key_size, value, value_size, name, target, err) < 0)
            return -1;
        if (global && (said.has_path || said.has_link || said.has_size))
            return err_set(err, "the archive gives all its entries one name or size");
        if (!global)
            *pax = said;
        bytes += length;
        size -= length;
    }
    return 0;
}
