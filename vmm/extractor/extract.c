/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract.c: see extract.h. reader.c judges the format, names.c the names, tree.c their places,
 * content.c what is in them; here are the caps and the report.
 */
#include "extractor/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "extractor/beneath.h"
#include "extractor/bundle.h"
#include "extractor/content.h"
#include "extractor/names.h"
#include "extractor/tree.h"
#include "extractor/writer.h"

/* In a bundle the content of one file at a time lies here until it has been judged. */
#define EXTRACT_SPOOL "content"

struct extraction {
    struct ipc_extract limits;
    const struct extract_sink *sink;
    struct ipc_extracted *result;
    int out_fd;
    struct tree *tree;
    struct file_writer *writer;
    struct bundle *bundle;   /* or NULL */
    uint64_t name_count;     /* records with a name */
    uint64_t entry_count;    /* files and directories created, dropped ones too */
    uint64_t begun_bytes;    /* of all files that were begun, dropped ones too */
    uint64_t unlisted_count; /* skipped, but not reported one by one */
    struct content *content; /* of the open file; NULL: none is open */
    uint64_t content_bytes;  /* that `content` has seen */
    bool file_is_skipped;    /* the last FILE was, and nothing with a name came after it */
    size_t file_name_bytes;
    uint8_t file_name[ARCHIVE_NAME_MAX_BYTES]; /* of the last FILE */
    struct ipc_entry entry;                    /* of the open file */
    struct tree_place place;                   /* of the last entry */
};

static int extract_report(struct extraction *run, const struct ipc_entry *entry, struct err *err)
{
    return run->sink->entry(run->sink->context, entry, err);
}

static void entry_make(
    struct ipc_entry *entry, enum ipc_entry_kind kind, const uint8_t *name, size_t name_bytes)
{
    memset(entry, 0, offsetof(struct ipc_entry, name));
    entry->kind = kind;
    entry->name_bytes = (uint32_t)name_bytes;
    memcpy(entry->name, name, name_bytes);
}

static int extract_skip(struct extraction *run, const uint8_t *name, size_t name_bytes,
    const char *reason, enum artifact_type type, struct err *err)
{
    static struct ipc_entry entry; /* too big for a stack */

    run->result->skipped++;
    if (run->result->skipped > run->limits.max_files) {
        run->unlisted_count++;
        return 0;
    }
    entry_make(&entry, ENTRY_SKIPPED, name, name_bytes);
    text_copy(entry.reason, sizeof(entry.reason), reason);
    entry.type = type;
    return extract_report(run, &entry, err);
}

/* What FILE and DIR have in common: a place of their own, which is an error when there is none. */
static int extract_place(struct extraction *run, const struct item *item, struct err *err)
{
    bool is_dir = item->kind == ITEM_DIR;

    if (tree_add(run->tree, item->name, item->name_bytes, is_dir, &run->place, err) < 0)
        return -1;
    run->entry_count++;
    entry_make(&run->entry, is_dir ? ENTRY_DIR : ENTRY_FILE, item->name, item->name_bytes);
    run->entry.mode = item->mode;
    run->entry.size = is_dir ? 0 : item->size_bytes;
    text_copy(run->entry.exported, sizeof(run->entry.exported), run->place.path);
    return 0;
}

static int extract_dir(struct extraction *run, const struct item *item, struct err *err)
{
    int failed;

    if (extract_place(run, item, err) < 0)
        return -1;
    failed = run->bundle ? bundle_add_dir(run->bundle, run->place.path, err)
                         : file_writer_mkdir(run->writer, run->place.path, err);
    return failed < 0 ? -1 : extract_report(run, &run->entry, err);
}

/* Where the content of the open file goes. */
static const char *extract_path(const struct extraction *run)
{
    return run->bundle ? EXTRACT_SPOOL : run->place.path;
}

static int extract_file(struct extraction *run, const struct item *item, struct err *err)
{
    if (extract_place(run, item, err) < 0)
        return -1;
    if (file_writer_begin(run->writer, extract_path(run), (item->mode & 0111) != 0, err) < 0)
        return -1;
    run->begun_bytes += item->size_bytes;
    run->content = content_begin(item->name, item->name_bytes, item->size_bytes, run->limits.types);
    run->content_bytes = 0;
    return 0;
}

static int extract_data(struct extraction *run, const struct item *item, struct err *err)
{
    content_feed_zeroes(run->content, item->offset_bytes - run->content_bytes);
    content_feed(run->content, item->data, item->data_bytes);
    run->content_bytes = item->offset_bytes + item->data_bytes;
    return file_writer_data(run->writer, item->offset_bytes, item->data, item->data_bytes, err);
}

/*
 * Why an item with a good name is left out, or NULL. Sizes are logical: a hole counts. A file that
 * is dropped again gives its bytes back, but not without end: what an archive can make the host
 * write and hash is twice the cap.
 */
static const char *extract_over_cap(const struct extraction *run, const struct item *item)
{
    uint64_t total = run->limits.max_total_bytes;

    if (run->entry_count >= run->limits.max_files)
        return "too_many_files";
    if (item->kind == ITEM_DIR)
        return NULL;
    if (item->size_bytes > run->limits.max_file_bytes)
        return "file_too_big";
    if (item->size_bytes > total - run->result->bytes ||
        (run->begun_bytes > total && item->size_bytes > total - (run->begun_bytes - total)))
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
    if (reason) {
        run->file_is_skipped = item->kind == ITEM_FILE;
        return extract_skip(run, item->name, item->name_bytes, reason, ARTIFACT_DATA, err);
    }
    if (item->kind == ITEM_DIR)
        return extract_dir(run, item, err);
    return extract_file(run, item, err);
}

static int extract_drop_file(struct extraction *run, struct err *err)
{
    content_drop(run->content);
    run->content = NULL;
    return file_writer_drop(run->writer, extract_path(run), err);
}

/* The spooled content of the open file becomes part of the bundle. */
static int extract_bundle_file(struct extraction *run, struct err *err)
{
    AUTO_FD int fd = open_beneath(run->out_fd, EXTRACT_SPOOL, O_RDONLY, 0);

    if (fd < 0)
        return err_sys(err, "cannot read an artifact back");
    if (bundle_add_file(run->bundle, run->place.path, (run->entry.mode & 0111) != 0, fd,
            run->entry.size, err) < 0)
        return -1;
    return file_writer_drop(run->writer, EXTRACT_SPOOL, err);
}

static int extract_finish_file(struct extraction *run, struct err *err)
{
    struct ipc_entry *entry = &run->entry;
    enum artifact_type type;
    bool right;

    if (!run->content)
        return 0;
    content_feed_zeroes(run->content, entry->size - run->content_bytes);
    right = content_end(run->content, &type);
    if (!right) {
        if (extract_drop_file(run, err) < 0)
            return -1;
        return extract_skip(run, entry->name, entry->name_bytes, "type_mismatch", type, err);
    }
    run->content = NULL;
    entry->type = type;
    if (file_writer_end(run->writer, entry->size, entry->sha256, err) < 0 ||
        (run->bundle && extract_bundle_file(run, err) < 0))
        return -1;
    run->result->files++;
    run->result->bytes += entry->size;
    return extract_report(run, entry, err);
}

/* The agent could not read the last file to its end, and says so right behind it (archive.h). */
static bool extract_is_taken_back(const struct extraction *run, const struct item *item)
{
    return (run->content || run->file_is_skipped) && item->kind == ITEM_SKIPPED &&
           item->name_bytes == run->file_name_bytes &&
           memcmp(item->name, run->file_name, item->name_bytes) == 0;
}

static void extract_remember_file(struct extraction *run, const struct item *item)
{
    run->file_is_skipped = false;
    run->file_name_bytes = item->kind == ITEM_FILE ? item->name_bytes : 0;
    memcpy(run->file_name, item->name, run->file_name_bytes);
}

/* A record with a name, whatever its kind. */
static int extract_item(
    struct extraction *run, struct archive_reader *reader, const struct item *item, struct err *err)
{
    bool taken_back = extract_is_taken_back(run, item);
    bool is_listed = taken_back && run->file_is_skipped; /* once is enough */

    if (taken_back && run->content && extract_drop_file(run, err) < 0)
        return -1;
    if (extract_finish_file(run, err) < 0)
        return -1;
    extract_remember_file(run, item);
    if (item->kind == ITEM_SKIPPED)
        return is_listed ? 0
                         : extract_skip(run, item->name, item->name_bytes,
                               archive_skip_text(item->skip), ARTIFACT_DATA, err);
    if (extract_named(run, item, err) < 0)
        return -1;
    if (item->kind == ITEM_FILE && !run->content)
        archive_reader_skip_data(reader);
    return 0;
}

/* Ends at the end of the archive, of the disk, or of EXTRACT_NAMES_MAX. */
static int extract_items(struct extraction *run, struct archive_reader *reader, struct err *err)
{
    for (;;) {
        struct item item;

        if (archive_reader_next(reader, &item, err) < 0)
            return -1;
        if (item.kind == ITEM_DATA) {
            if (extract_data(run, &item, err) < 0)
                return -1;
            continue;
        }
        if (item.kind == ITEM_END)
            return extract_finish_file(run, err);
        if (run->name_count++ == EXTRACT_NAMES_MAX) {
            run->result->skipped++;
            run->unlisted_count++;
            return extract_finish_file(run, err);
        }
        if (extract_item(run, reader, &item, err) < 0)
            return -1;
    }
}

static int extract_end_bundle(struct extraction *run, struct err *err)
{
    struct ipc_extracted *result = run->result;

    if (!run->bundle)
        return 0;
    return bundle_end(run->bundle, &result->bundle_bytes, result->bundle_sha256, err);
}

static int extract_all(struct extraction *run, const struct archive_source *source, struct err *err)
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
    run->writer = file_writer_make(run->out_fd, !run->limits.bundle, err);
    if (!run->writer)
        return -1;
    if (run->limits.bundle && !(run->bundle = bundle_make(run->out_fd, err)))
        return -1;
    if (archive_reader_init(&reader, source, err) < 0 || extract_items(run, &reader, err) < 0 ||
        extract_end_bundle(run, err) < 0)
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
    run.out_fd = out_fd;
    failed = extract_all(&run, source, &err);
    if (run.content)
        content_drop(run.content);
    bundle_free(run.bundle);
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
