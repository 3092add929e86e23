/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gc.c: see gc.h. What a killed run leaves: its run directory, and in the output directory entries
 * that were half-made. The first is removed whole; of the second exactly those names that carry the
 * run's own ID, and only in the directory that the run wrote down. Logs stay: they are the user's.
 * A cgroup of the run's ID goes too, if no process is in it.
 */
#include "supervisor/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "jail/cgroup.h"
#include "supervisor/output_dir.h"
#include "supervisor/remove_tree.h"
#include "supervisor/run_dir.h"
#include "supervisor/verdict.h"

/* Entries of a base that are looked at. */
enum { BASE_ENTRIES_MAX = 100000 };

/* Longest line that is told; what is shown in it is shorter. */
enum { GC_LINE_BYTES = 1024 };

static void gc_say(const struct gc_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void gc_say(const struct gc_request *request, const char *format, ...)
{
    char text[GC_LINE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    request->say(text);
}

/*
 * Whether the file system that RECORD names is not where it was: the nearest directory above that
 * is there belongs to another one.
 */
static bool output_is_unmounted(const struct run_record *record)
{
    char path[PATH_MAX];
    struct stat status;
    char *slash;

    must(text_copy(path, sizeof(path), record->path));
    while ((slash = strrchr(path, '/')) && slash != path) {
        *slash = '\0';
        if (lstat(path, &status) == 0)
            return status.st_dev != record->device;
        if (errno != ENOENT && errno != ENOTDIR)
            return true;
    }
    return lstat("/", &status) < 0 || status.st_dev != record->device;
}

/*
 * The directory of RECORD, if it is still the same and the caller's own. Returns the fd or -1;
 * *KEEP says then why the record is still needed, and is NULL when it is not.
 */
static int output_reopen(const struct run_record *record, const char **keep)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    AUTO_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, record->path, &how, sizeof(how));
    struct stat status;

    *keep = NULL;
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        *keep = strerror(errno);
    else if (fd < 0 && errno != ELOOP && output_is_unmounted(record))
        *keep = "its file system is not mounted there";
    else if (fd < 0)
        return -1;
    else if (fstat(fd, &status) < 0)
        *keep = strerror(errno);
    else if (status.st_dev != record->device)
        *keep = "another file system is there";
    else if (status.st_ino != record->inode)
        return -1;
    else if (status.st_uid != geteuid())
        *keep = "it belongs to another user";
    return *keep ? -1 : fd_take(&fd);
}

/*
 * What RUN, which is claimed, left half-made in its output directory. Returns 0, -1, or 1 when that
 * directory cannot be looked at now: the run directory stays, or nobody would find what is there.
 */
static int gc_output(
    const struct gc_request *request, const struct run_dir *run, uint64_t *budget, struct err *err)
{
    const char *run_id = run->name + strlen(RUN_PREFIX);
    struct run_record record = {0};
    const char *keep;
    char shown[256];
    AUTO_FD int fd = -1;

    if (!run_dir_read_record(run->fd, &record))
        return 0; /* it was killed before there was anything */
    text_escape(shown, sizeof(shown), record.path, strlen(record.path));
    fd = output_reopen(&record, &keep);
    if (keep) {
        gc_say(request, "%s: kept: cannot clean up its output directory %s: %s", run->name, shown,
            keep);
        return 1;
    }
    if (fd < 0) {
        if (request->verbose)
            gc_say(request, "%s: its output directory %s is gone, or is another one now", run->name,
                shown);
        return 0;
    }
    for (int i = 0; i < OUTPUT_PARTIALS; i++) {
        char name[OUTPUT_PARTIAL_BYTES];
        struct stat status;

        output_partial_name(name, i, run_id);
        if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (request->dry_run || request->verbose)
            gc_say(request, "%s: %s %s/%s", run->name,
                request->dry_run ? "would remove" : "removes", shown, name);
        if (!request->dry_run && remove_tree(fd, name, budget, err) < 0)
            return err_wrap(err, "%s: %s", run->name, shown);
    }
    return 0;
}

static void gc_cgroup(const struct gc_request *request, const struct run_dir *run)
{
    char self[PATH_MAX];

    if (run_dir_read_cgroup(run->fd, self) &&
        jail_cgroup_clear(self, run->name + strlen(RUN_PREFIX), request->dry_run) &&
        (request->dry_run || request->verbose))
        gc_say(
            request, "%s: %s its cgroup", run->name, request->dry_run ? "would remove" : "removes");
}

/* Returns true when the run directory was, or would be, removed. */
static bool gc_run_directory(const struct gc_request *request, struct run_dir *run, struct err *err)
{
    uint64_t budget = request->files_max;
    bool done = gc_output(request, run, &budget, err) == 0;

    gc_cgroup(request, run);
    if (done && !request->dry_run && run_dir_discard(run, &budget, err) < 0) {
        err_wrap(err, "%s", run->name);
        done = false;
    }
    run_dir_close(run);
    if (done)
        gc_say(request, "%s: %s", run->name, request->dry_run ? "would be removed" : "removed");
    return done;
}

/* Returns true when the entry NAME of the base was, or would be, removed. */
static bool gc_entry(
    const struct gc_request *request, int base_fd, const char *name, struct text_list *errors)
{
    const char *why = "not a run directory";
    struct err err = ERR_INIT;
    struct run_dir run;
    bool removed = false;
    char shown[128];

    text_escape(shown, sizeof(shown), name, strlen(name));
    if (strncmp(name, RUN_PREFIX, strlen(RUN_PREFIX)) == 0) {
        switch (run_dir_claim(&run, base_fd, name, &err)) {
        case RUN_CLAIMED:
            removed = gc_run_directory(request, &run, &err);
            why = NULL;
            break;
        case RUN_IN_USE:
            why = "the run is going on";
            break;
        case RUN_GONE:
            why = "gone meanwhile";
            break;
        case RUN_FOREIGN:
            break;
        case RUN_ERROR:
            why = NULL;
            break;
        }
    }
    if (err_is_set(&err))
        text_list_add(errors, err.text);
    else if (why && request->verbose)
        gc_say(request, "%s: left alone: %s", shown, why);
    return removed;
}

uint64_t gc_base(
    const struct gc_request *request, int base_fd, const char *base_path, struct text_list *errors)
{
    int copy = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    struct text_list names = {0};
    const struct dirent *entry;
    uint64_t removed = 0;

    if (!directory) {
        text_list_addf(errors, "cannot read %s: %s", base_path, strerror(errno));
        fd_close(&copy);
        return 0;
    }
    /* All names first: what is removed while a directory is read may hide others. */
    while (names.count < BASE_ENTRIES_MAX && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            text_list_add(&names, entry->d_name);
    }
    closedir(directory);
    errors->failed |= names.failed;
    for (size_t i = 0; i < names.count; i++)
        removed += gc_entry(request, base_fd, names.items[i], errors);
    text_list_free(&names);
    return removed;
}

int gc_run(const struct gc_request *request, struct text_list *errors)
{
    uint64_t removed = 0;

    for (int i = 0; i < RUN_BASES; i++) {
        char path[RUN_BASE_BYTES];
        bool there = run_base_path(i, path);
        struct err err = ERR_INIT;
        AUTO_FD int fd = there ? run_base_open(path, false, &err) : -1;

        if (fd >= 0)
            removed += gc_base(request, fd, path, errors);
        else if (there && err.errnum != ENOENT)
            text_list_add(errors, err.text);
    }
    if (removed == 0)
        request->say("nothing to remove");
    else
        gc_say(request, "%llu run director%s %s", (unsigned long long)removed,
            removed == 1 ? "y" : "ies", request->dry_run ? "would be removed" : "removed");
    return errors->count > 0 || errors->failed ? VERDICT_EXIT_VMRUN : 0;
}
