/* SPDX-License-Identifier: Apache-2.0 */
/* plan_file.c: see plan_file.h. The files are the user's; only their heads are looked at. */
#include "supervisor/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/arch/arch.h"
#include "supervisor/file_digest.h"
#include "supervisor/text_list.h"

enum {
    SECTOR_BYTES = 512,
    EROFS_SUPER_OFFSET = 1024,
    EROFS_MAGIC = 0xe0f5e1e2,
    SQUASHFS_MAGIC_LE = 0x73717368,
};

/* Open a regular file (NULL: no memory for its path) for reading and read its first HEAD_SIZE
 * bytes, zeroes beyond its end. */
static int open_regular(
    const char *path, void *head, size_t head_size, struct file_stamp *stamp, struct err *err)
{
    AUTO_FD int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    struct stat status;

    if (!path)
        return err_set(err, "out of memory");
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, "%s: cannot open it", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, "%s: it is not a regular file", path);
    *stamp = file_stamp_of(&status);
    memset(head, 0, head_size);
    if (fd_pread_all(fd, head, head_size, 0) < 0)
        return err_sys(err, "%s: cannot read it", path);
    return fd_take(&fd);
}

const char *image_problem(const uint8_t head[IMAGE_HEAD_BYTES], uint64_t size)
{
    const uint8_t *erofs = head + EROFS_SUPER_OFFSET;
    uint64_t used;

    if (size < IMAGE_HEAD_BYTES)
        return "it is too short for a file system image";
    if (le32_load(erofs) == EROFS_MAGIC) {
        /* fs/erofs/erofs_fs.h: blkszbits at 12, blocks at 36. */
        if (erofs[12] < 9 || erofs[12] > 16)
            return "its EROFS superblock is damaged (block size)";
        used = (uint64_t)le32_load(erofs + 36) << erofs[12];
    } else if (le32_load(head) == SQUASHFS_MAGIC_LE) {
        used = le64_load(head + 40); /* fs/squashfs/squashfs_fs.h: bytes_used */
    } else {
        return "it is neither an EROFS nor a squashfs image; build one with rootfs/build";
    }
    if (used > size)
        return "it is cut short: the file system is larger than the file; copy or build it again";
    if (size % SECTOR_BYTES != 0)
        return "its size is not a multiple of 512 bytes, which a disk has; pad it with "
               "truncate -s %512";
    return NULL;
}

int plan_open_image(struct plan *plan, struct err *err)
{
    const struct config *config = plan->config;
    AUTO_FREE char *path = config_path(config, config->image);
    uint8_t head[IMAGE_HEAD_BYTES];
    char text[DIGEST_TEXT_BYTES], wanted[DIGEST_TEXT_BYTES];
    const char *problem;

    plan->image_fd = open_regular(path, head, sizeof(head), &plan->image_stamp, err);
    if (plan->image_fd < 0)
        return config_err(config, err, "image", "path", "%s", err->text);
    problem = image_problem(head, plan->image_stamp.size);
    if (problem)
        return config_err(config, err, "image", "path", "%s: %s", path, problem);
    if (!config->image_has_sha256) {
        plan->image_digest_known = file_digest_recall(plan->image_fd, plan->image_digest);
        return 0;
    }
    if (file_digest_check(plan->image_fd, config->image_sha256, plan->image_digest, err) < 0)
        return err_wrap(err, "%s", path);
    text_hex(text, plan->image_digest, DIGEST_BYTES);
    text_hex(wanted, config->image_sha256, DIGEST_BYTES);
    if (memcmp(plan->image_digest, config->image_sha256, DIGEST_BYTES) != 0)
        return config_err(config, err, "image", "sha256",
            "%s has %s, not %s: another or a changed "
            "image",
            path, text, wanted);
    plan->image_digest_known = true;
    return 0;
}

/*
 * ERR about a file of the guest: points to the KEY of [machine] that names it, or says how to get
 * the one that comes with vmrun. KEY is NULL for a file that no key names.
 */
static int guest_file_err(const struct plan *plan, struct err *err, const char *key)
{
    struct err said = *err;

    if (!key)
        return err_set(err, "%s; build it with make", said.text);
    if (config_where(plan->config, "machine", key))
        return config_err(plan->config, err, "machine", key, "%s", said.text);
    return err_set(err, "%s; build it with make, or name another in [machine] %s", said.text, key);
}

int plan_open_kernel(struct plan *plan, struct err *err)
{
    uint64_t *size = &plan->kernel_stamp.size;
    uint8_t head[1];

    plan->kernel_fd = open_regular(plan->kernel_path, head, sizeof(head), &plan->kernel_stamp, err);
    if (plan->kernel_fd >= 0 &&
        host_check_guest_kernel(plan->kernel_fd, *size, &plan->kernel_ram_bytes, err) < 0)
        err_wrap(err, "%s", plan->kernel_path);
    return err_is_set(err) ? guest_file_err(plan, err, "kernel") : 0;
}

/* What it holds is for the guest kernel to judge: it knows more formats than could be told here. */
int plan_open_initramfs(struct plan *plan, struct err *err)
{
    struct file_stamp stamp;
    uint8_t head[1];

    plan->initramfs_fd = open_regular(plan->initramfs_path, head, sizeof(head), &stamp, err);
    if (plan->initramfs_fd >= 0 && stamp.size == 0)
        err_set(err, "%s: it is empty", plan->initramfs_path);
    plan->initramfs_bytes = stamp.size;
    return err_is_set(err) ? guest_file_err(plan, err, "initramfs") : 0;
}

static unsigned long long mib_up(uint64_t bytes)
{
    return bytes / MIB + (bytes % MIB != 0);
}

int plan_check_memory(const struct plan *plan, struct err *err)
{
    const struct config *config = plan->config;
    uint64_t kernel = plan->kernel_ram_bytes, initramfs = plan->initramfs_bytes;
    unsigned long long needed_mib = mib_up(kernel) + mib_up(initramfs);

    /* The initramfs begins on the page behind the kernel; the size of RAM is a whole page too. */
    if (kernel <= config->memory_bytes &&
        initramfs <= config->memory_bytes - align_up(kernel, 4096))
        return 0;
    return config_err(config, err, "machine", "memory",
        "too small for the guest kernel, which is loaded up to %llu MiB, and the initramfs behind "
        "it, %llu MiB; raise it to %lluM at least",
        mib_up(kernel), mib_up(initramfs), needed_mib + needed_mib % 2);
}

/*
 * Documentation/filesystems/ext4: superblock at 1024; in it the number of blocks at 4, the
 * logarithm of their size at 0x18, magic at 0x38. The file ends with its last block that is not all
 * zeroes.
 */
int plan_open_template(struct plan *plan, struct err *err)
{
    struct file_stamp stamp = {0};
    uint8_t head[2048];
    const uint8_t *superblock = head + 1024;
    uint64_t bytes = 0;

    plan->template_fd = open_regular(plan->template_path, head, sizeof(head), &stamp, err);
    if (plan->template_fd >= 0)
        bytes = (uint64_t)le32_load(superblock + 4) << (10 + (le32_load(superblock + 0x18) & 7));
    if (bytes < stamp.size) /* it would not end where its superblock says */
        bytes = stamp.size;
    if (plan->template_fd >= 0 && le16_load(superblock + 0x38) != 0xef53)
        err_set(err, "%s: it is not an ext4 file system", plan->template_path);
    else if (plan->template_fd >= 0 && bytes > plan->config->disk_bytes)
        return config_err(plan->config, err, "limits", "disk",
            "smaller than the empty file system, %s, which has %llu bytes", plan->template_path,
            (unsigned long long)bytes);
    if (err_is_set(err))
        return guest_file_err(plan, err, NULL);
    return 0;
}

int plan_open_stdin(struct plan *plan, struct err *err)
{
    const struct config *config = plan->config;
    AUTO_FREE char *path = NULL;
    struct file_stamp stamp;
    uint8_t head[1];

    if (config->stdin_kind != STDIN_FILE)
        return 0;
    path = config_path(config, config->stdin_path);
    plan->stdin_fd = open_regular(path, head, sizeof(head), &stamp, err);
    if (plan->stdin_fd < 0)
        return config_err(config, err, "task", "stdin", "%s", err->text);
    return 0;
}

int plan_check_disk_directory(const struct plan *plan, const char *path, struct err *err)
{
    struct statfs status;

    if (fstatfs(plan->disk_dir_fd, &status) < 0)
        return err_sys(err, "%s: cannot find out its file system", path);
    if (status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC)
        return 0;
    if (plan->config->disk_on_tmpfs)
        return 0;
    return config_err(plan->config, err, "machine", "workdir",
        "%s is on a tmpfs, where the disks of a "
        "run would fill the memory of the host; name a directory on a disk, or allow it "
        "with [machine] workdir_tmpfs = yes",
        path);
}
