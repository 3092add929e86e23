/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_dir.c: see output_dir.h. What the extractor left in the artifacts directory is hostile: it
 * is removed by remove_tree.c.
 */
#include "supervisor/output_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "ipc/ipc.h"
#include "supervisor/remove_tree.h"

#define ARTIFACTS_NAME "artifacts"

void output_partial_name(char name[OUTPUT_PARTIAL_BYTES], int partial, const char *run_id)
{
    static const char *const kinds[OUTPUT_PARTIALS] = {[OUTPUT_PARTIAL_RESULT] = "result.json",
        [OUTPUT_PARTIAL_ARTIFACTS] = "artifacts",
        [OUTPUT_PARTIAL_MANIFEST] = "manifest.json"};
    int length = snprintf(name, OUTPUT_PARTIAL_BYTES, ".%s.%s.partial", kinds[partial], run_id);

    must(length < OUTPUT_PARTIAL_BYTES);
}

/* *CREATED: the last of them was not there before. */
static int make_directories(char *path, bool *created, struct err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "cannot create the directory %s", path);
        *slash = '/';
    }
    *created = mkdir(path, 0777) == 0;
    if (!*created && errno != EEXIST)
        return err_sys(err, "cannot create the directory %s", path);
    return 0;
}

/* 1, 0, or -1 with errno. */
static int is_empty(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    int empty = 1, error;

    if (!directory) {
        fd_close(&copy);
        return -1;
    }
    while (empty && (errno = 0, entry = readdir(directory)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    error = empty ? errno : 0;
    closedir(directory);
    errno = error;
    return error ? -1 : empty;
}

/*
 * Two runs may have found the same directory empty: the first to lock it has it. Where the file
 * system cannot lock, creating the logs (O_EXCL) still lets only one of them go on. *TAKEN: it is
 * another's.
 */
static int output_take(const char *path, bool *taken, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int empty;

    if (fd < 0)
        return err_sys(err, "cannot open the output directory %s", path);
    *taken = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    empty = *taken ? 0 : is_empty(fd);
    if (empty < 0)
        return err_sys(err, "cannot read the output directory %s", path);
    if (!empty)
        return err_set(err, "output directory %s: another run has just taken it", path);
    return fd_take(&fd);
}

int output_create(const char *path, bool *created, struct err *err)
{
    char parts[PATH_MAX];
    bool taken = false;
    int fd;

    *created = false;
    if (!text_copy(parts, sizeof(parts), path)) {
        errno = ENAMETOOLONG;
        return err_sys(err, "cannot create the output directory");
    }
    if (make_directories(parts, created, err) < 0)
        return -1;
    fd = output_take(path, &taken, err);
    /* Empty is also what another run has that was faster and has not begun. */
    if (fd < 0 && *created && !taken)
        rmdir(path); /* it goes only while it is empty */
    return fd;
}

int output_create_file(int output_fd, const char *name, struct err *err)
{
    int fd = openat(output_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_sys(err, "cannot create the file %s in the output directory", name);
    return fd;
}

int output_begin_artifacts(int output_fd, const char *run_id, struct err *err)
{
    char partial[OUTPUT_PARTIAL_BYTES];
    int fd;

    output_partial_name(partial, OUTPUT_PARTIAL_ARTIFACTS, run_id);
    if (mkdirat(output_fd, partial, 0700) < 0)
        return err_sys(err, "cannot create the directory for artifacts");
    fd = openat(output_fd, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot open the directory for artifacts");
    return fd;
}

/* Not all file systems can refuse to replace (9p, NFS): there it is looked at first. */
static int rename_anew(int from_fd, const char *name, int to_fd, const char *to)
{
    if (renameat2(from_fd, name, to_fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (faccessat(to_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? renameat(from_fd, name, to_fd, to) : -1;
}

int output_publish(int from_fd, const char *name, int to_fd, const char *to, struct err *err)
{
    if (rename_anew(from_fd, name, to_fd, to) < 0)
        return err_sys(err, "cannot publish %s in the output directory", to);
    if (fsync(to_fd) == 0)
        return 0;
    err_sys(err, "cannot bring the output directory to stable storage");
    (void)rename_anew(to_fd, to, from_fd, name); /* taken back: the caller removes it */
    return -1;
}

int output_publish_artifacts(
    int output_fd, const char *run_id, int artifacts_fd, bool bundle, struct err *err)
{
    char partial[OUTPUT_PARTIAL_BYTES];
    struct stat status;

    output_partial_name(partial, OUTPUT_PARTIAL_ARTIFACTS, run_id);
    if (bundle) {
        if (output_publish(artifacts_fd, BUNDLE_NAME, output_fd, BUNDLE_NAME, err) < 0)
            return -1;
        if (unlinkat(output_fd, partial, AT_REMOVEDIR) == 0)
            return 0;
        err_sys(err, "cannot remove the directory of the bundle"); /* there is more in it */
        unlinkat(output_fd, BUNDLE_NAME, 0);
        return -1;
    }
    /* The mode that the user's umask gave the directory around it. */
    if (fstat(output_fd, &status) < 0 || fchmod(artifacts_fd, status.st_mode & 0777) < 0 ||
        fsync(artifacts_fd) < 0)
        return err_sys(err, "cannot publish the artifacts");
    return output_publish(output_fd, partial, output_fd, ARTIFACTS_NAME, err);
}

int output_discard_artifacts(int output_fd, const char *run_id, bool bundle, struct err *err)
{
    uint64_t unlimited = UINT64_MAX; /* the extractor was bounded */
    char partial[OUTPUT_PARTIAL_BYTES];

    output_partial_name(partial, OUTPUT_PARTIAL_ARTIFACTS, run_id);
    if (remove_tree(output_fd, partial, &unlimited, err) < 0)
        return err_wrap(err, "refused artifacts");
    if (!bundle && mkdirat(output_fd, ARTIFACTS_NAME, 0777) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create the directory artifacts");
    return 0;
}
