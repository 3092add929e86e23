/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -lz */
/*
 * untar_fuzz.c: an archive of any bytes, plain or gzip: it ends, within its limits, and every name
 * that is handed out is relative, clean and of bounded length. The first byte says how much a read
 * returns, so that every boundary is met, and by its high bit that checksums of headers are put
 * right, since no mutation keeps them.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "guest-agent/gunzip.h"
#include "guest-agent/tar.h"

struct seen {
    struct gunzip gunzip;
    size_t step;
    uint64_t entries, bytes;
    uint64_t left; /* of the current file */
};

static const struct tar_limits limits = {.bytes = 1 << 20, .entries = 64, .depth = 8};

static ssize_t seen_read(void *context, void *bytes, size_t size, struct err *err)
{
    struct seen *seen = context;

    return gunzip_read(&seen->gunzip, bytes, size_min(size, seen->step), err);
}

static void check_name(const char *name)
{
    uint64_t depth = 0;

    must(strlen(name) <= TAR_NAME_MAX_BYTES);
    while (*name) {
        size_t length = strcspn(name, "/");

        must(length > 0 && length <= TAR_COMPONENT_MAX_BYTES);
        must(!(length == 1 && name[0] == '.'));
        must(!(length == 2 && name[0] == '.' && name[1] == '.'));
        name += length;
        must(*name == '\0' || name[1] != '\0');
        name += *name == '/';
        depth++;
    }
    must(depth <= limits.depth);
}

static int seen_entry(void *context, const struct tar_entry *entry, struct err *err)
{
    struct seen *seen = context;

    (void)err;
    must(seen->left == 0);
    check_name(entry->name);
    must(entry->name[0] || entry->kind == TAR_DIRECTORY);
    must(entry->kind == TAR_FILE || entry->size == 0);
    must(entry->mode == 0644 || entry->mode == 0755);
    if (entry->kind == TAR_HARD_LINK)
        check_name(entry->target);
    if (entry->kind == TAR_HARD_LINK || entry->kind == TAR_SYMLINK)
        must(entry->target[0] && strlen(entry->target) <= TAR_NAME_MAX_BYTES);
    seen->left = entry->size;
    seen->bytes += entry->size;
    must(++seen->entries <= limits.entries && seen->bytes <= limits.bytes);
    return 0;
}

static int seen_data(void *context, const uint8_t *bytes, size_t size, struct err *err)
{
    struct seen *seen = context;

    (void)err;
    must(size > 0 && size <= seen->left);
    must(bytes != NULL);
    seen->left -= size;
    return 0;
}

static void fix_sums(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + TAR_BLOCK_BYTES <= size; at += TAR_BLOCK_BYTES) {
        uint8_t *field = bytes + at + 148;
        unsigned sum = 0;

        memset(field, ' ', 8);
        for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
            sum += bytes[at + i];
        if (sum == 8 * ' ') { /* the end mark */
            memset(field, 0, 8);
            continue;
        }
        for (int i = 5; i >= 0; i--, sum >>= 3)
            field[i] = (uint8_t)('0' + (sum & 7));
        field[6] = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tar_ops ops = {seen_read, seen_entry, seen_data};
    static struct seen seen;
    struct err err = ERR_INIT;
    int failed;

    static uint8_t bytes[1 << 20];
    int fd = memfd_create("archive", MFD_CLOEXEC);

    must(fd >= 0);
    size = size_min(size, sizeof(bytes));
    memcpy(bytes, data, size);
    if (size > 0 && (bytes[0] & 0x80))
        fix_sums(bytes + 1, size - 1);
    seen.step = size > 0 && (bytes[0] & 0x7f) ? bytes[0] & 0x7f : 65536;
    seen.entries = seen.bytes = seen.left = 0;
    must(size == 0 || fd_pwrite_all(fd, bytes + 1, size - 1, 0) == 0);
    failed = gunzip_begin(&seen.gunzip, fd, &err);
    if (failed == 0)
        failed = tar_read(&ops, &seen, &limits, &err);
    must(err_is_set(&err) == (failed < 0));
    must(failed < 0 || seen.left == 0);
    gunzip_end(&seen.gunzip);
    fd_close(&fd);
    return 0;
}
