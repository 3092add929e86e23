/* SPDX-License-Identifier: Apache-2.0 */
/* tar_build.h: tar archives, right and wrong ones, built in memory. */
#ifndef TESTS_GUEST_AGENT_TAR_BUILD_H
#define TESTS_GUEST_AGENT_TAR_BUILD_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

struct tar_build {
    size_t used;
    uint8_t bytes[1 << 20];
};

static inline void tar_build_sum(uint8_t *header)
{
    unsigned sum = 0;

    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
}

/* A ustar header and SIZE bytes of content. Returns the header, for what is to be spoilt. */
static inline uint8_t *tar_build_entry(struct tar_build *build, char type, const char *name,
    const char *link, unsigned mode, const void *content, size_t size)
{
    uint8_t *header = build->bytes + build->used;
    size_t room = 512 + (size + 511) / 512 * 512;

    assert_true(build->used + room <= sizeof(build->bytes));
    memset(header, 0, room);
    memcpy(header, name, strnlen(name, 100));
    memcpy(header + 157, link, strnlen(link, 100));
    snprintf((char *)header + 100, 8, "%07o", mode);
    snprintf((char *)header + 124, 12, "%011zo", size);
    header[156] = (uint8_t)type;
    memcpy(header + 257, "ustar\00000", 8);
    tar_build_sum(header);
    memcpy(header + 512, content, size);
    build->used += room;
    return header;
}

static inline void tar_build_file(struct tar_build *build, const char *name, const char *content)
{
    tar_build_entry(build, '0', name, "", 0644, content, strlen(content));
}

static inline void tar_build_end(struct tar_build *build)
{
    memset(build->bytes + build->used, 0, 1024);
    build->used += 1024;
}

#endif
