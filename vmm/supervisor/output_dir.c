/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_dir.c: see output_dir.h. What the extractor left in the artifacts directory is hostile: it
 * is removed by directory fds, and no link is followed.
 */
#include "supervisor/output_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/text_list.h"

#define ARTIFACTS_PARTIAL ".artifacts.partial"
#define ARTIFACTS_NAME    "artifacts"

enum { REMOVE_DEPTH_MAX = 80 };

static int make_directories(char *path, struct err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "cannot create the directory %s", path);
        *slash = '/';
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create the directory %s", path);
    return 0;
}

/* The rename that publishes a result takes the mark away, so a run that is over is looked for too.
 */
static int output_claim(int fd, const char *path, struct err *err)
{
    AUTO_FD int mark = openat(
        fd, OUTPUT_RESULT_PARTIAL, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (mark < 0 && errno != EEXIST)
        return err_sys(err, "cannot write to the output directory %s", path);
    if (mark >= 0 && faccessat(fd, OUTPUT_RESULT, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (mark >= 0)
        unlinkat(fd, OUTPUT_RESULT_PARTIAL, 0);
    return err_set(
        err, "output directory %s: another run has it; name another with --output", path);
}

int output_create(const char *path, struct err *err)
{
    AUTO_FREE char *parts = text_clone(path, strlen(path));
    AUTO_FD int fd = -1;

    if (make_directories(parts, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot open the output directory %s", path);
    if (output_claim(fd, path, err) < 0)
        return -1;
    return fd_take(&fd);
}

int output_create_file(int output_fd, const char *name, struct err *err)
{
    int fd = openat(output_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_sys(err, "cannot create the file %s in the output directory", name);
    return fd;
}

int output_begin_artifacts(int output_fd, struct err *err)
{
    int fd;

    if (mkdirat(output_fd, ARTIFACTS_PARTIAL, 0700) < 0)
        return err_sys(err, "cannot create the directory for artifacts");
    fd = openat(output_fd, ARTIFACTS_PARTIAL, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot open the directory for artifacts");
    return fd;
}

int output_publish_artifacts(int output_fd, int artifacts_fd, struct err *err)
{
    struct stat status;

    /* The mode that the user's umask gave the directory around it. */
    if (fstat(output_fd, &status) < 0 || fchmod(artifacts_fd, status.st_mode & 0777) < 0 ||
        renameat(output_fd, ARTIFACTS_PARTIAL, output_fd, ARTIFACTS_NAME) < 0)
        return err_sys(err, "cannot publish the artifacts");
    return 0;
}

/* Remove what is in the directory FD. The depth is bounded. */
static int remove_content(int fd, int depth, struct err *err)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;

    if (!directory) {
        fd_close(&copy);
        return err_sys(err, "cannot open a directory of artifacts");
    }
    while (!err_is_set(err) && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        AUTO_FD int child = -1;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0)
            continue;
        child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child < 0 || depth == REMOVE_DEPTH_MAX)
            err_sys(err, "cannot remove refused artifacts");
        else if (remove_content(child, depth + 1, err) == 0 && unlinkat(fd, name, AT_REMOVEDIR) < 0)
            err_sys(err, "cannot remove refused artifacts");
    }
    closedir(directory);
    return err_is_set(err) ? -1 : 0;
}

int output_discard_artifacts(int output_fd, struct err *err)
{
    AUTO_FD int fd =
        openat(output_fd, ARTIFACTS_PARTIAL, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && (remove_content(fd, 0, err) < 0 ||
                       unlinkat(output_fd, ARTIFACTS_PARTIAL, AT_REMOVEDIR) < 0))
        return err_is_set(err) ? -1 : err_sys(err, "cannot remove refused artifacts");
    if (mkdirat(output_fd, ARTIFACTS_NAME, 0777) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create the directory artifacts");
    return 0;
}
