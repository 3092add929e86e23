/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h: a strict reader of tar archives (guest agent, in the process of unpack_child.c; every byte
 * is hostile). Pure: bytes come from READ, what they say goes to ENTRY and DATA.
 *
 * It knows ustar (POSIX.1-2017, pax, "ustar Interchange Format"), the pax headers that name a path,
 * a link or a size, and of GNU tar the long names and large numbers. What it does not know (sparse
 * files, devices, other types) is an error and not skipped: a task never runs on half of its input.
 *
 * Names come out relative, without ".", ".." and doubled slashes; their bytes are otherwise free.
 * Owners, times and modes but the execute bit are ignored.
 */
#ifndef AGENT_TAR_H
#define AGENT_TAR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    TAR_BLOCK_BYTES = 512,
    TAR_NAME_MAX_BYTES = 4095,
    TAR_COMPONENT_MAX_BYTES = 255,
    TAR_META_MAX_BYTES = 256 << 10, /* of one pax header or long name */
    TAR_META_MAX_COUNT = 8,         /* of them before one entry */
};

enum tar_kind { TAR_FILE, TAR_DIRECTORY, TAR_SYMLINK, TAR_HARD_LINK };

struct tar_entry {
    enum tar_kind kind;
    const char *name;   /* cleaned; "" is the root, a directory */
    const char *target; /* of links: of a symbolic one as it is, of a hard one cleaned */
    uint32_t mode;      /* 0755 or 0644 */
    uint64_t size;      /* of a file: so many bytes of DATA follow */
};

struct tar_limits {
    uint64_t bytes;   /* of all files together */
    uint64_t entries; /* headers that name something */
    uint64_t depth;   /* components of a name */
};

struct tar_ops {
    /* Up to SIZE bytes; the count, 0 at the end, -1 with an error. */
    ssize_t (*read)(void *context, void *bytes, size_t size, struct err *err);
    int (*entry)(void *context, const struct tar_entry *entry, struct err *err);
    int (*data)(void *context, const uint8_t *bytes, size_t size, struct err *err);
};

/* Read up to the end mark of the archive; what follows it is left in READ. */
int tar_read(
    const struct tar_ops *ops, void *context, const struct tar_limits *limits, struct err *err);

#endif
