/* SPDX-License-Identifier: Apache-2.0 */
/* file_digest.c: see file_digest.h. */
#include "supervisor/file_digest.h"

#include <linux/fsverity.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervisor/digest_cache.h"

/* Younger than that, and its times may hide a write: file systems count in up to two seconds. */
#define YOUNG_NS (2 * NS_PER_S)

bool file_digest_verity(int fd, uint8_t digest[DIGEST_BYTES])
{
    union {
        struct fsverity_digest head;
        uint8_t room[sizeof(struct fsverity_digest) + 64];
    } measured = {.head = {.digest_size = 64}};

    if (ioctl(fd, FS_IOC_MEASURE_VERITY, &measured) < 0 ||
        measured.head.digest_algorithm != FS_VERITY_HASH_ALG_SHA256 ||
        measured.head.digest_size != DIGEST_BYTES)
        return false;
    memcpy(digest, measured.room + sizeof(measured.head), DIGEST_BYTES);
    return true;
}

static int read_key(int fd, struct digest_key *key, struct stat *status, struct err *err)
{
    memset(key, 0, sizeof(*key));
    if (fstat(fd, status) < 0)
        return err_sys(err, "cannot stat it");
    key->device = status->st_dev;
    key->inode = status->st_ino;
    key->size = (uint64_t)status->st_size;
    key->modified_s = (uint64_t)status->st_mtim.tv_sec;
    key->modified_ns = (uint64_t)status->st_mtim.tv_nsec;
    key->changed_s = (uint64_t)status->st_ctim.tv_sec;
    key->changed_ns = (uint64_t)status->st_ctim.tv_nsec;
    key->has_verity = file_digest_verity(fd, key->verity);
    return 0;
}

static bool is_old(struct timespec time, uint64_t now_ns)
{
    return time.tv_sec >= 0 && (uint64_t)time.tv_sec < now_ns / NS_PER_S &&
           (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec + YOUNG_NS <= now_ns;
}

/* Whether what is known of it now will be known by the same key for as long as it is true. */
static bool lasts(const struct digest_key *key, const struct stat *status)
{
    uint64_t now_ns = clock_real_ns();

    if (key->has_verity)
        return true;
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return false;
    /* The bits of the group are the mask of an access list, where there is one. */
    return !(status->st_mode & (S_IWGRP | S_IWOTH)) && is_old(status->st_mtim, now_ns) &&
           is_old(status->st_ctim, now_ns);
}

bool file_digest_lasts(int fd)
{
    struct err ignored = ERR_INIT;
    struct digest_key key;
    struct stat status;

    return read_key(fd, &key, &status, &ignored) == 0 && lasts(&key, &status);
}

bool file_digest_recall(int fd, uint8_t digest[DIGEST_BYTES])
{
    struct err ignored = ERR_INIT;
    struct digest_key key;
    struct stat status;

    return read_key(fd, &key, &status, &ignored) == 0 && lasts(&key, &status) &&
           digest_cache_get(&key, digest);
}

int file_digest_compute(int fd, uint8_t digest[DIGEST_BYTES], struct err *err)
{
    struct digest_key before, after;
    struct stat status, ignored;
    bool keep;

    if (read_key(fd, &before, &status, err) < 0)
        return -1;
    keep = lasts(&before, &status); /* before the first byte is read */
    if (digest_file(digest, fd, err) < 0 || read_key(fd, &after, &ignored, err) < 0)
        return -1;
    if (memcmp(&before, &after, sizeof(before)) != 0)
        return err_set(err, "it changed while it was read");
    if (keep)
        digest_cache_keep(&before, digest);
    return 0;
}

int file_digest_check(
    int fd, const uint8_t wanted[DIGEST_BYTES], uint8_t is[DIGEST_BYTES], struct err *err)
{
    /* A cache that disagrees may be the one that is wrong. */
    if (file_digest_recall(fd, is) && memcmp(is, wanted, DIGEST_BYTES) == 0)
        return 0;
    return file_digest_compute(fd, is, err);
}
