/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c: see tar.h. */
#include "tar.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "tar_pax.h"

/* Where fields are in a header block. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_SIZE = 124,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    NAME_BYTES = 100,
    NUMBER_BYTES = 8,
    SIZE_BYTES = 12,
    PREFIX_BYTES = 155,
    NAME_SHOWN_BYTES = 128,
};

struct tar {
    const struct tar_ops *ops;
    void *context;
    const struct tar_limits *limits;
    uint64_t bytes;
    uint64_t entries;
    uint8_t raw_header[TAR_BLOCK_BYTES];
    uint8_t raw_meta[TAR_META_MAX_BYTES];
    struct tar_pax pax; /* of the entry to come */
    char name[TAR_NAME_MAX_BYTES + 1];
    char target[TAR_NAME_MAX_BYTES + 1];
};

static int tar_name_err(const struct tar *tar, struct err *err, const char *what)
{
    char shown[NAME_SHOWN_BYTES];

    text_escape(shown, sizeof(shown), tar->name, strlen(tar->name));
    return err_set(err, "%s: %s", shown, what);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Exactly SIZE bytes. */
static int tar_take(struct tar *tar, void *to, size_t size, struct err *err)
{
    uint8_t *bytes = to;

    while (size > 0) {
        ssize_t count = tar->ops->read(tar->context, bytes, size, err);

        if (count < 0)
            return -1;
        if (count == 0)
            return err_set(err, "the archive is cut short");
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

static int tar_pass_padding(struct tar *tar, uint64_t size, struct err *err)
{
    uint8_t padding[TAR_BLOCK_BYTES];
    size_t over = (size_t)(size % TAR_BLOCK_BYTES);

    return over ? tar_take(tar, padding, sizeof(padding) - over, err) : 0;
}

static bool is_zero_block(const uint8_t *block)
{
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++) {
        if (block[i])
            return false;
    }
    return true;
}

/* ---- fields of a header -----------------------------------------------------------------------
 */

/* Octal digits between blanks, or, with the high bit set, a big-endian number (GNU tar). */
static bool tar_number(const uint8_t *field, size_t size, uint64_t *value)
{
    size_t at = 0;

    *value = 0;
    if (field[0] & 0x80) {
        if (field[0] != 0x80)
            return false; /* negative, or too large for any file */
        for (at = 1; at < size; at++) {
            if (*value >> 55)
                return false;
            *value = *value << 8 | field[at];
        }
        return true;
    }
    while (at < size && field[at] == ' ')
        at++;
    for (; at < size && field[at] >= '0' && field[at] <= '7'; at++)
        *value = *value << 3 | (uint64_t)(field[at] - '0'); /* 12 digits: 36 bits */
    while (at < size && (field[at] == ' ' || field[at] == '\0'))
        at++;
    return at == size;
}

static bool tar_sum_is_right(const uint8_t *header)
{
    uint64_t stated, sum = 0;

    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += i >= AT_SUM && i < AT_SUM + NUMBER_BYTES ? ' ' : header[i];
    return tar_number(header + AT_SUM, NUMBER_BYTES, &stated) && stated == sum;
}

/* A field of text, terminated only when it is not full. */
static size_t tar_text(char *to, const uint8_t *field, size_t size)
{
    size_t length = strnlen((const char *)field, size);

    memcpy(to, field, length);
    to[length] = '\0';
    return length;
}

/* The name that the header block itself has. */
static void tar_header_name(const uint8_t *header, char *to)
{
    size_t used = 0;

    /* GNU tar has other things where ustar has the prefix. */
    if (memcmp(header + AT_MAGIC, "ustar\0", 6) == 0 && header[AT_PREFIX]) {
        used = tar_text(to, header + AT_PREFIX, PREFIX_BYTES);
        to[used++] = '/';
    }
    tar_text(to + used, header + AT_NAME, NAME_BYTES);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Clean NAME in place; returns the rule that it breaks, or NULL. */
static const char *tar_clean(char *name, uint64_t depth_max)
{
    const char *from = name;
    uint64_t depth = 0;
    size_t used = 0;

    if (name[0] == '/')
        return "it is an absolute path";
    while (*from) {
        size_t length = strcspn(from, "/");

        if (length == 2 && from[0] == '.' && from[1] == '.')
            return "it leads upwards (\"..\")";
        if (length > TAR_COMPONENT_MAX_BYTES)
            return "a component is longer than 255 bytes";
        if (length > 0 && !(length == 1 && from[0] == '.')) {
            if (used > 0)
                name[used++] = '/';
            memmove(name + used, from, length);
            used += length;
            depth++;
        }
        from += length;
        from += *from == '/';
    }
    name[used] = '\0';
    return depth > depth_max ? "more directories deep than [input_options] max_depth" : NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int tar_pass_data(struct tar *tar, uint64_t size, struct err *err)
{
    uint8_t block[16 * TAR_BLOCK_BYTES];

    for (uint64_t left = size; left > 0;) {
        size_t part = (size_t)u64_min(left, sizeof(block));

        if (tar_take(tar, block, part, err) < 0 ||
            tar->ops->data(tar->context, block, part, err) < 0)
            return -1;
        left -= part;
    }
    return tar_pass_padding(tar, size, err);
}

/* Kind, name and target, from the header block and what came before it. */
static int tar_describe(struct tar *tar, struct tar_entry *entry, struct err *err)
{
    const uint8_t *header = tar->raw_header;
    const char *name_rule, *target_rule = NULL;
    uint8_t type = header[AT_TYPE];
    bool slash;

    if (!tar->pax.has_path)
        tar_header_name(header, tar->name);
    if (!tar->pax.has_link)
        tar_text(tar->target, header + AT_LINK, NAME_BYTES);
    slash = tar->name[0] && tar->name[strlen(tar->name) - 1] == '/';
    name_rule = tar_clean(tar->name, tar->limits->depth);
    if (type == '5' || ((type == '\0' || type == '0') && slash))
        entry->kind = TAR_DIRECTORY; /* before ustar a directory was a file with a slash */
    else if (type == '0' || type == '\0' || type == '7')
        entry->kind = TAR_FILE;
    else if (type == '1' || type == '2')
        entry->kind = type == '1' ? TAR_HARD_LINK : TAR_SYMLINK;
    else
        return tar_name_err(tar, err,
            type >= '3' && type <= '6'
                ? "it is a device or a FIFO; files, directories and links "
                  "can be unpacked"
                : "it is of a kind that cannot be unpacked (a sparse file?)");
    if (entry->kind == TAR_HARD_LINK)
        target_rule = tar_clean(tar->target, tar->limits->depth);
    if (name_rule || target_rule)
        return tar_name_err(tar, err, name_rule ? name_rule : "it is a link out of the archive");
    if ((entry->kind == TAR_HARD_LINK || entry->kind == TAR_SYMLINK) && tar->target[0] == '\0')
        return tar_name_err(tar, err, "it is a link to nothing");
    if (entry->kind != TAR_DIRECTORY && tar->name[0] == '\0')
        return err_set(err, "an entry of the archive has no name");
    return 0;
}

static int tar_take_entry(struct tar *tar, uint64_t size, struct err *err)
{
    struct tar_entry entry = {.name = tar->name, .target = tar->target, .size = size};
    uint64_t mode;

    if (tar_describe(tar, &entry, err) < 0)
        return -1;
    if (!tar_number(tar->raw_header + AT_MODE, NUMBER_BYTES, &mode))
        return tar_name_err(tar, err, "its mode is not a number");
    if (entry.kind != TAR_FILE && size != 0)
        return tar_name_err(tar, err, "it has content, and is no file");
    if (tar->entries == tar->limits->entries)
        return tar_name_err(
            tar, err, "the archive has more files and directories than [input_options] max_files");
    if (size > tar->limits->bytes - tar->bytes)
        return tar_name_err(
            tar, err, "with it the archive unpacks to more than [input_options] max_total");
    tar->entries++;
    tar->bytes += size;
    entry.mode = mode & 0111 ? 0755 : 0644;
    if (tar->ops->entry(tar->context, &entry, err) < 0)
        return -1;
    return tar_pass_data(tar, size, err);
}

/* A header that says something of those to come. */
static int tar_take_meta(struct tar *tar, uint8_t type, uint64_t size, struct err *err)
{
    struct tar_pax *pax = &tar->pax;

    if (size > sizeof(tar->raw_meta))
        return err_set(err, "a header of the archive is larger than %d bytes", TAR_META_MAX_BYTES);
    if (tar_take(tar, tar->raw_meta, (size_t)size, err) < 0 || tar_pass_padding(tar, size, err) < 0)
        return -1;
    if (type == 'L')
        return tar_pax_text(tar->raw_meta, (size_t)size, tar->name, &pax->has_path, err);
    if (type == 'K')
        return tar_pax_text(tar->raw_meta, (size_t)size, tar->target, &pax->has_link, err);
    return tar_pax_read(pax, tar->raw_meta, (size_t)size, type == 'g', tar->name, tar->target, err);
}

/* One entry with what stands before it. Returns 1, 0 at the end mark, -1 on an error. */
static int tar_next(struct tar *tar, struct err *err)
{
    uint8_t *header = tar->raw_header;

    tar->pax = (struct tar_pax){0};
    for (unsigned metas = 0;; metas++) {
        uint64_t size;
        uint8_t type;

        if (tar_take(tar, header, TAR_BLOCK_BYTES, err) < 0)
            return -1;
        if (is_zero_block(header) && metas == 0)
            return 0;
        if (!tar_sum_is_right(header))
            return err_set(err, "the archive is damaged: a header has a wrong checksum");
        if (!tar_number(header + AT_SIZE, SIZE_BYTES, &size))
            return err_set(err, "the archive is damaged: a size is not a number");
        type = header[AT_TYPE];
        if (type != 'L' && type != 'K' && type != 'x' && type != 'g') {
            if (tar->pax.has_size)
                size = tar->pax.size;
            return tar_take_entry(tar, size, err) < 0 ? -1 : 1;
        }
        if (metas == TAR_META_MAX_COUNT)
            return err_set(err, "the archive has too many headers before an entry");
        if (tar_take_meta(tar, type, size, err) < 0)
            return -1;
    }
}

int tar_read(
    const struct tar_ops *ops, void *context, const struct tar_limits *limits, struct err *err)
{
    static struct tar tar; /* too large for a stack; the process reads one archive at a time */
    int more;

    tar.ops = ops;
    tar.context = context;
    tar.limits = limits;
    tar.bytes = tar.entries = 0;
    while ((more = tar_next(&tar, err)) > 0)
        continue;
    if (more < 0)
        return -1;
    if (tar_take(&tar, tar.raw_header, TAR_BLOCK_BYTES, err) < 0)
        return -1;
    if (!is_zero_block(tar.raw_header))
        return err_set(err, "the archive is damaged: its end mark is half there");
    return 0;
}
