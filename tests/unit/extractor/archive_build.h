/* SPDX-License-Identifier: Apache-2.0 */
/* archive_build.h: archives in memory, good and bad ones, for the tests of the extractor. */
#ifndef TESTS_UNIT_EXTRACTOR_ARCHIVE_BUILD_H
#define TESTS_UNIT_EXTRACTOR_ARCHIVE_BUILD_H

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "extractor/reader.h"
#include "tests/unit/unit.h"
#include "wire/archive.h"

struct build {
    uint8_t *bytes;
    size_t size, room;
    uint64_t records;
};

static inline void build_bytes(struct build *build, const void *bytes, size_t size)
{
    if (build->room - build->size < size) {
        build->room = 2 * build->room + size + 4096;
        build->bytes = realloc(build->bytes, build->room);
        assert_non_null(build->bytes);
    }
    if (size > 0)
        memcpy(build->bytes + build->size, bytes, size);
    build->size += size;
}

static inline void build_begin(struct build *build)
{
    uint8_t header[ARCHIVE_HEADER_BYTES];

    *build = (struct build){0};
    archive_put_header(header);
    build_bytes(build, header, sizeof(header));
}

static inline void build_free(struct build *build)
{
    free(build->bytes);
    *build = (struct build){0};
}

static inline void build_record(
    struct build *build, struct archive_record record, const void *bytes, size_t size)
{
    uint8_t head[ARCHIVE_RECORD_BYTES];

    archive_put_record(head, &record);
    build_bytes(build, head, sizeof(head));
    build_bytes(build, bytes, size);
    build->records++;
}

static inline void build_named(struct build *build, uint32_t kind, const void *name,
    size_t name_bytes, uint32_t mode, uint64_t size)
{
    build_record(build,
        (struct archive_record){
            .kind = kind, .name_bytes = (uint32_t)name_bytes, .mode = mode, .size = size},
        name, name_bytes);
}

static inline void build_dir(struct build *build, const char *name)
{
    build_named(build, ARCHIVE_DIR, name, strlen(name), 0755, 0);
}

/* The records of a file's content follow. */
static inline void build_file(struct build *build, const char *name, uint32_t mode, uint64_t size)
{
    build_named(build, ARCHIVE_FILE, name, strlen(name), mode, size);
}

static inline void build_extent(struct build *build, uint64_t offset, const void *data, size_t size)
{
    build_record(build,
        (struct archive_record){.kind = ARCHIVE_EXTENT, .size = size, .offset = offset}, data,
        size);
}

static inline void build_text_file(struct build *build, const char *name, const char *text)
{
    build_file(build, name, 0644, strlen(text));
    if (text[0])
        build_extent(build, 0, text, strlen(text));
}

static inline void build_skipped(struct build *build, const char *name, uint32_t skip)
{
    build_named(build, ARCHIVE_SKIPPED, name, strlen(name), skip, 0);
}

static inline void build_end(struct build *build)
{
    build_record(
        build, (struct archive_record){.kind = ARCHIVE_END, .size = build->records}, NULL, 0);
}

/* The source that reads a build; a read outside of it is a fault of the reader. */
static inline int build_read(
    void *context, void *buffer, size_t size, uint64_t offset, struct err *err)
{
    const struct build *build = context;

    (void)err;
    assert_true(range_within(offset, size, build->size));
    memcpy(buffer, build->bytes + offset, size);
    return 0;
}

static inline struct archive_source build_source(struct build *build)
{
    return (struct archive_source){.read = build_read, .context = build, .size_bytes = build->size};
}

#endif
