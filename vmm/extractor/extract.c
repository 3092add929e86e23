/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract.c: see extract.h. reader.c judges the format, names.c the names, tree.c their places;
 * here are the caps and the report.
 */
#include "extractor/extract.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "extractor/names.h"
#include "extractor/tree.h"
#include "extractor/writer.h"

struct extraction {
    struct ipc_extract limits;
    const struct extract_sink *sink;
    struct ipc_extracted *result;
    struct tree *tree;
    struct file_writer *writer;
    uint64_t name_count;     /* records with a name */
    uint64_t entry_count;    /* files and directories created */
    uint64_t unlisted_count; /* skipped, but not reported one by one */
    bool file_is_open;       /* `entry` is that of the open file */
    struct ipc_entry entry;
    char file_path[TREE_PATH_BYTES]; /* of the open file, below the output directory */
};

static int extract_report(struct extraction *run, struct err *err)
{
    return run->sink->entry(run->sink->context, &run->entry, err);
}

static void entry_make(
    struct ipc_entry *entry, enum ipc_entry_kind kind, const struct item *item, const char *reason)
{
    memset(entry, 0, offsetof(struct ipc_entry, name));
    entry->kind = kind;
    entry->mode = kind == ENTRY_SKIPPED ? 0 : item->mode;
    entry->size = kind == ENTRY_FILE ? item->size_bytes : 0;
    text_copy(entry->reason, sizeof(entry->reason), reason);
    entry->name_bytes = (uint32_t)item->name_bytes;
    memcpy(entry->name, item->name, item->name_bytes);
}

static int extract_skip(
    struct extraction *run, const struct item *item, const char *reason, struct err *err)
{
    run->result->skipped++;
    if (run->result->skipped > run->limits.max_files) {
        run->unlisted_count++;
        return 0;
    }
    entry_make(&run->entry, ENTRY_SKIPPED, item, reason);
    return extract_report(run, err);
}

static int extract_dir(struct extraction *run, const struct item *item, struct err *err)
{
    struct tree_place place;

    if (tree_add(run->tree, item->name, item->name_bytes, true, &place, err) < 0)
        return -1;
    run->entry_count++;
    if (file_writer_mkdir(run->writer, place.path, err) < 0)
        return -1;
    entry_make(&run->entry, ENTRY_DIR, item, place.alias);
    return extract_report(run, err);
}

static int extract_file(struct extraction *run, const struct item *item, struct err *err)
{
    struct tree_place place;

    if (tree_add(run->tree, item->name, item->name_bytes, false, &place, err) < 0)
        return -1;
    run->entry_count++;
    if (file_writer_begin(run->writer, place.path, (item->mode & 0111) != 0, err) < 0)
        return -1;
    entry_make(&run->entry, ENTRY_FILE, item, place.alias);
    text_copy(run->file_path, sizeof(run->file_path), place.path);
    run->file_is_open = true;
    return 0;
}

/* Why an item with a good name is left out, or NULL. Sizes are logical: a hole counts. */
static const char *extract_over_cap(const struct extraction *run, const struct item *item)
{
    if (run->entry_count >= run->limits.max_files)
        return "too_many_files";
    if (item->kind == ITEM_DIR)
        return NULL;
    if (item->size_bytes > run->limits.max_file_bytes)
        return "file_too_big";
    if (item->size_bytes > run->limits.max_total_bytes - run->result->bytes)
        return "total_too_big";
    return NULL;
}

/*
 * A directory that is skipped takes everything below it along: what is too long, too deep or too
 * many above is so below as well, and that is asked before the directory of a name is looked for.
 */
static int extract_named(struct extraction *run, const struct item *item, struct err *err)
{
    const char *reason = NULL;

    switch (name_judge(item->name, item->name_bytes, run->limits.max_depth, err)) {
    case NAME_BROKEN:
        return -1;
    case NAME_TOO_LONG:
        reason = archive_skip_text(ARCHIVE_SKIP_TOO_LONG);
        break;
    case NAME_TOO_DEEP:
        reason = archive_skip_text(ARCHIVE_SKIP_TOO_DEEP);
        break;
    case NAME_GOOD:
        /* A directory above several declared paths may come with each of them. */
        if (item->kind == ITEM_DIR && tree_has_dir(run->tree, item->name, item->name_bytes))
            return 0;
        reason = extract_over_cap(run, item);
        break;
    }
    if (reason)
        return extract_skip(run, item, reason, err);
    if (item->kind == ITEM_DIR)
        return extract_dir(run, item, err);
    return extract_file(run, item, err);
}

static int extract_finish_file(struct extraction *run, struct err *err)
{
    if (!run->file_is_open)
        return 0;
    run->file_is_open = false;
    if (file_writer_end(run->writer, run->entry.size, run->entry.sha256, err) < 0)
        return -1;
    run->result->files++;
    run->result->bytes += run->entry.size;
    return extract_report(run, err);
}

/* The agent could not read the open file to its end, and says so right behind it (archive.h). */
static bool extract_takes_back(const struct extraction *run, const struct item *item)
{
    return run->file_is_open && item->kind == ITEM_SKIPPED &&
           item->name_bytes == run->entry.name_bytes &&
           memcmp(item->name, run->entry.name, item->name_bytes) == 0;
}

/* Ends at the end of the archive, of the disk, or of EXTRACT_NAMES_MAX. */
static int extract_items(struct extraction *run, struct archive_reader *reader, struct err *err)
{
    for (;;) {
        struct item item;

        if (archive_reader_next(reader, &item, err) < 0)
            return -1;
        if (item.kind == ITEM_DATA) {
            if (file_writer_data(run->writer, item.offset_bytes, item.data, item.data_bytes, err) <
                0)
                return -1;
            continue;
        }
        if (extract_takes_back(run, &item)) {
            run->file_is_open = false;
            if (file_writer_drop(run->writer, run->file_path, err) < 0)
                return -1;
        }
        if (extract_finish_file(run, err) < 0)
            return -1;
        if (item.kind == ITEM_END)
            return 0;
        if (run->name_count++ == EXTRACT_NAMES_MAX) {
            run->result->skipped++;
            run->unlisted_count++;
            return 0;
        }
        if (item.kind == ITEM_SKIPPED) {
            if (extract_skip(run, &item, archive_skip_text(item.skip), err) < 0)
                return -1;
            continue;
        }
        if (extract_named(run, &item, err) < 0)
            return -1;
        if (item.kind == ITEM_FILE && !run->file_is_open)
            archive_reader_skip_data(reader);
    }
}

static int extract_all(
    struct extraction *run, const struct archive_source *source, int out_fd, struct err *err)
{
    static struct archive_reader reader; /* too big for a stack */

    if (run->limits.max_files > TREE_ENTRIES_MAX) {
        err_set(err, "max_files is %llu; at most %d are possible",
            (unsigned long long)run->limits.max_files, TREE_ENTRIES_MAX);
        err->errnum = EINVAL;
        return -1;
    }
    run->tree = tree_make(run->limits.max_files, err);
    if (!run->tree)
        return -1;
    run->writer = file_writer_make(out_fd, err);
    if (!run->writer)
        return -1;
    if (archive_reader_init(&reader, source, err) < 0 || extract_items(run, &reader, err) < 0)
        return -1;
    return file_writer_sync(run->writer, err);
}

void extract_archive(const struct archive_source *source, const struct ipc_extract *limits,
    int out_fd, const struct extract_sink *sink, struct ipc_extracted *result)
{
    static struct extraction run; /* too big for a stack */
    struct err err = ERR_INIT;
    int failed;

    memset(result, 0, sizeof(*result));
    memset(&run, 0, sizeof(run));
    run.limits = *limits;
    run.sink = sink;
    run.result = result;
    failed = extract_all(&run, source, out_fd, &err);
    file_writer_free(run.writer);
    tree_free(run.tree);
    if (failed) {
        result->status = err.errnum != 0 ? EXTRACT_FAILED : EXTRACT_REFUSED;
        text_copy(result->text, sizeof(result->text), err.text);
        return;
    }
    result->status = result->skipped > 0 ? EXTRACT_PARTIAL : EXTRACT_COMPLETE;
    if (run.name_count > EXTRACT_NAMES_MAX)
        snprintf(result->text, sizeof(result->text),
            "the archive has more than %d names; what comes after them was not looked at",
            EXTRACT_NAMES_MAX);
    else if (run.unlisted_count > 0)
        snprintf(result->text, sizeof(result->text), "%llu skipped entries are not listed",
            (unsigned long long)run.unlisted_count);
}
