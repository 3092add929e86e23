/* SPDX-License-Identifier: Apache-2.0 */
/* disks.c: see disks.h. What is copied here is ours (the template) or the user's (inputs). */
#include "supervisor/disks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "supervisor/disk_reopen.h"
#include "supervisor/import.h"

enum {
    DISK_ALIGN_BYTES = 4096,
    COPY_BLOCK_BYTES = 4096,
};

/* What the archive needs beyond the bytes of the files: a record and a name for each. */
#define EXPORT_HEADROOM_BYTES (4 * MIB)

int disk_create(const struct plan *plan, struct err *err)
{
    int fd = openat(plan->disk_dir_fd, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)
        return config_err(plan->config, err, "machine", "workdir",
            "the file system of %s cannot hold "
            "unnamed files (O_TMPFILE); name a directory on ext4, xfs or btrfs",
            plan->config->disk_directory ? plan->config->disk_directory : plan->output);
    return config_err(plan->config, err, "machine", "workdir", "cannot create a disk in %s: %s",
        plan->config->disk_directory ? plan->config->disk_directory : plan->output,
        strerror(errno));
}

static int disk_resize(int fd, uint64_t bytes, struct err *err)
{
    if (ftruncate(fd, (off_t)align_up(bytes, DISK_ALIGN_BYTES)) < 0)
        return err_sys(err, "cannot make a disk of %llu bytes", (unsigned long long)bytes);
    return 0;
}

/* One stretch of data, block by block. */
static int copy_data(int to, int from, uint64_t start, uint64_t end, struct err *err)
{
    static const uint8_t zeroes[COPY_BLOCK_BYTES];
    uint8_t block[COPY_BLOCK_BYTES];

    while (start < end) {
        size_t want = (size_t)u64_min(end - start, sizeof(block));
        ssize_t count = fd_pread_all(from, block, want, start);

        if (count < 0)
            return err_sys(err, "cannot read the template");
        if (count == 0)
            return 0;
        if (memcmp(block, zeroes, (size_t)count) != 0 &&
            fd_pwrite_all(to, block, (size_t)count, start) < 0)
            return err_sys(err, "cannot write a disk");
        start += (uint64_t)count;
    }
    return 0;
}

int disk_copy_sparse(int to, int from, struct err *err)
{
    uint64_t size;

    if (fd_size(from, &size, err) < 0)
        return -1;
    for (uint64_t at = 0; at < size;) {
        off_t data = lseek(from, (off_t)at, SEEK_DATA);
        off_t hole;

        if (data < 0 && errno == ENXIO)
            return 0; /* a hole up to the end */
        if (data < 0) /* a file system that does not know */
            return copy_data(to, from, at, size, err);
        hole = lseek(from, data, SEEK_HOLE);
        if (hole < 0)
            hole = (off_t)size;
        if (copy_data(to, from, (uint64_t)data, (uint64_t)hole, err) < 0)
            return -1;
        at = (uint64_t)hole;
    }
    return 0;
}

uint64_t disk_export_bytes(const struct config *config)
{
    return config->artifacts_total_bytes + EXPORT_HEADROOM_BYTES;
}

static int disks_make_export(struct disks *disks, const struct plan *plan, struct err *err)
{
    disks->export_disk = disk_create(plan, err);
    if (disks->export_disk < 0 ||
        disk_resize(disks->export_disk, disk_export_bytes(plan->config), err) < 0)
        return -1;
    return 0;
}

static int disks_make_import(struct disks *disks, const struct plan *plan, struct err *err)
{
    AUTO_FD int fd = -1;
    uint64_t bytes;

    if (plan->config->input_count == 0)
        return 0;
    fd = disk_create(plan, err);
    if (fd < 0 || import_pack(plan->config, plan->input_fds, fd, &bytes, err) < 0 ||
        disk_resize(fd, bytes, err) < 0)
        return -1;
    disks->import = disk_reopen_readonly(fd, err);
    return disks->import < 0 ? -1 : 0;
}

int disks_make(struct disks *disks, const struct plan *plan, struct err *err)
{
    *disks = (struct disks)DISKS_INIT;
    disks->scratch = disk_create(plan, err);
    if (disks->scratch < 0 || disk_copy_sparse(disks->scratch, plan->template_fd, err) < 0 ||
        disk_resize(disks->scratch, plan->config->disk_bytes, err) < 0)
        return -1;
    if (disks_make_export(disks, plan, err) < 0)
        return -1;
    return disks_make_import(disks, plan, err);
}

int disks_make_salvage(
    struct disks *disks, const struct disks *of, const struct plan *plan, struct err *err)
{
    *disks = (struct disks)DISKS_INIT;
    disks->scratch = disk_reopen_readonly(of->scratch, err);
    return disks->scratch < 0 ? -1 : disks_make_export(disks, plan, err);
}

void disks_free(struct disks *disks)
{
    fd_close(&disks->scratch);
    fd_close(&disks->export_disk);
    fd_close(&disks->export_readonly);
    fd_close(&disks->import);
}

int disk_describe(int fd, bool readonly, struct ipc_disk *disk, struct err *err)
{
    *disk = (struct ipc_disk){.readonly = readonly};
    if (fd_size(fd, &disk->bytes, err) < 0)
        return -1;
    /* A hole behind the end of the file changes nothing; the answer says if holes can be punched.
     */
    disk->punches = !readonly && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     (off_t)disk->bytes, DISK_ALIGN_BYTES) == 0;
    return 0;
}

uint64_t disk_allocated_bytes(int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return 0;
    return (uint64_t)status.st_blocks * 512;
}
