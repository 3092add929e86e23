/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_fuzz.c: an export disk of any bytes through the whole extractor but its writer, which is
 * replaced by one that creates nothing and checks everything: paths stay beneath the output,
 * directories come first, no two names meet (in any case or normal form), data ascends and stays
 * inside its file, caps hold, types too for every third size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "extractor/extract.h"
#include "extractor/fold.h"
#include "extractor/names.h"
#include "extractor/tree.h"
#include "extractor/writer.h"

enum {
    FUZZ_FILES_MAX = 40,
    FUZZ_FILE_BYTES = 1 << 16,
    FUZZ_TOTAL_BYTES = 1 << 18,
    FUZZ_DEPTH = 6,
};

struct file_writer {
    char *paths[FUZZ_FILES_MAX];
    bool is_dir[FUZZ_FILES_MAX];
    size_t count;
    bool is_open;
    uint64_t offset;
    uint64_t total;
};

static struct file_writer fake;

static bool fake_has_dir(const char *path, size_t length)
{
    for (size_t i = 0; i < fake.count; i++) {
        if (fake.is_dir[i] && strlen(fake.paths[i]) == length &&
            memcmp(fake.paths[i], path, length) == 0)
            return true;
    }
    return false;
}

/* True when both are one file where neither case nor normal form counts. */
static bool fake_meets(const char *a, const char *b)
{
    static uint32_t left[FOLD_MAX], right[FOLD_MAX];
    const char *a_last = strrchr(a, '/'), *b_last = strrchr(b, '/');
    size_t a_parent = a_last ? (size_t)(a_last + 1 - a) : 0;
    size_t b_parent = b_last ? (size_t)(b_last + 1 - b) : 0;
    size_t count, other;

    if (a_parent != b_parent || memcmp(a, b, a_parent) != 0)
        return false;
    count = fold_name(left, (const uint8_t *)a + a_parent, strlen(a) - a_parent);
    other = fold_name(right, (const uint8_t *)b + b_parent, strlen(b) - b_parent);
    return count == other && memcmp(left, right, count * sizeof(left[0])) == 0;
}

static void fake_check_path(const char *path)
{
    const char *last = strrchr(path, '/');
    const char *at = path;
    int depth = 0;

    must(path[0] != '\0' && path[0] != '/');
    for (;;) {
        size_t length = strcspn(at, "/");

        must(length > 0 && length <= NAME_COMPONENT_MAX_BYTES);
        must(!(length == 1 && at[0] == '.') && !(length == 2 && memcmp(at, "..", 2) == 0));
        must(component_is_plain((const uint8_t *)at, length));
        depth++;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    must(depth <= FUZZ_DEPTH);
    must(!last || fake_has_dir(path, (size_t)(last - path)));
    for (size_t i = 0; i < fake.count; i++)
        must(!fake_meets(path, fake.paths[i]));
}

static void fake_add(const char *path, bool is_dir)
{
    fake_check_path(path);
    must(fake.count < FUZZ_FILES_MAX && !fake.is_open);
    fake.paths[fake.count] = strdup(path);
    must(fake.paths[fake.count] != NULL);
    fake.is_dir[fake.count] = is_dir;
    fake.count++;
}

struct file_writer *file_writer_make(int dir_fd, bool lasts, struct err *err)
{
    (void)lasts;
    (void)dir_fd, (void)err;
    fake = (struct file_writer){0};
    return &fake;
}

void file_writer_free(struct file_writer *writer)
{
    for (size_t i = 0; writer && i < writer->count; i++)
        free(writer->paths[i]);
}

int file_writer_mkdir(struct file_writer *writer, const char *path, struct err *err)
{
    (void)writer, (void)err;
    fake_add(path, true);
    return 0;
}

int file_writer_begin(
    struct file_writer *writer, const char *path, bool executable, struct err *err)
{
    (void)writer, (void)executable, (void)err;
    fake_add(path, false);
    fake.is_open = true;
    fake.offset = 0;
    return 0;
}

int file_writer_data(
    struct file_writer *writer, uint64_t offset, const uint8_t *bytes, size_t size, struct err *err)
{
    volatile uint8_t sum = 0; /* every byte is read */

    (void)writer, (void)err;
    must(fake.is_open && offset >= fake.offset && size > 0);
    must(range_within(offset, size, FUZZ_FILE_BYTES));
    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + bytes[i]);
    fake.offset = offset + size;
    return 0;
}

int file_writer_end(
    struct file_writer *writer, uint64_t size, uint8_t digest[FILE_DIGEST_BYTES], struct err *err)
{
    (void)writer, (void)err;
    must(fake.is_open && size >= fake.offset && size <= FUZZ_FILE_BYTES);
    fake.is_open = false;
    fake.total += size;
    must(fake.total <= FUZZ_TOTAL_BYTES);
    memset(digest, 0, FILE_DIGEST_BYTES);
    return 0;
}

int file_writer_drop(struct file_writer *writer, const char *path, struct err *err)
{
    (void)writer, (void)err;
    must(fake.is_open && fake.count > 0 && strcmp(fake.paths[fake.count - 1], path) == 0);
    fake.is_open = false;
    return 0;
}

int file_writer_sync(struct file_writer *writer, struct err *err)
{
    (void)writer, (void)err;
    must(!fake.is_open);
    return 0;
}

struct disk {
    const uint8_t *bytes;
    size_t size;
};

static int disk_read(void *context, void *buffer, size_t size, uint64_t offset, struct err *err)
{
    const struct disk *disk = context;

    (void)err;
    must(range_within(offset, size, disk->size));
    memcpy(buffer, disk->bytes + offset, size);
    return 0;
}

static uint64_t entries, skipped;
static bool typed;

static int take_entry(void *context, const struct ipc_entry *entry, struct err *err)
{
    (void)context, (void)err;
    must(entry->kind >= ENTRY_FILE && entry->kind <= ENTRY_SKIPPED && entry->mode <= 07777);
    must(entry->name_bytes > 0 && entry->name_bytes <= IPC_NAME_MAX_BYTES);
    must(entry->type < ARTIFACT_TYPES);
    must((entry->kind == ENTRY_SKIPPED) == (entry->exported[0] == '\0'));
    must((entry->kind == ENTRY_SKIPPED) == (entry->reason[0] != '\0'));
    if (typed && entry->kind == ENTRY_FILE)
        must(entry->type == ARTIFACT_TEXT || entry->type == ARTIFACT_JSON);
    entries++;
    skipped += entry->kind == ENTRY_SKIPPED;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ipc_extract limits = {.max_total_bytes = FUZZ_TOTAL_BYTES,
        .max_file_bytes = FUZZ_FILE_BYTES,
        .max_files = FUZZ_FILES_MAX,
        .max_depth = FUZZ_DEPTH};
    const struct extract_sink sink = {.entry = take_entry};
    struct disk disk = {.bytes = data, .size = size};
    struct archive_source source = {.read = disk_read, .context = &disk, .size_bytes = size};
    static struct ipc_extracted result;

    entries = skipped = 0;
    typed = size % 3 == 0;
    limits.types = typed ? 1U << ARTIFACT_TEXT | 1U << ARTIFACT_JSON : 0;
    extract_archive(&source, &limits, -1, &sink, &result);
    must(result.status >= EXTRACT_COMPLETE && result.status <= EXTRACT_REFUSED);
    must((result.status == EXTRACT_REFUSED) <= (result.text[0] != '\0'));
    must(skipped <= FUZZ_FILES_MAX && entries - skipped <= FUZZ_FILES_MAX);
    must(result.status != EXTRACT_COMPLETE || skipped == 0);
    must(result.bytes <= FUZZ_TOTAL_BYTES);
    return 0;
}
