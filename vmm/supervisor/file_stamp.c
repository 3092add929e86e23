/* SPDX-License-Identifier: Apache-2.0 */
/* file_stamp.c: see file_stamp.h. */
#include "supervisor/file_stamp.h"

struct file_stamp file_stamp_of(const struct stat *status)
{
    return (struct file_stamp){.device = status->st_dev,
        .inode = status->st_ino,
        .size = (uint64_t)status->st_size,
        .links = status->st_nlink,
        .modified = status->st_mtim,
        .changed = status->st_ctim};
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_stamp_unwritten(const struct file_stamp *then, const struct file_stamp *now)
{
    if (then->device != now->device || then->inode != now->inode || then->size != now->size ||
        !same_time(then->modified, now->modified))
        return false;
    /* A write with the old mtime set again leaves its trace here; so does a name that came or went.
     */
    return same_time(then->changed, now->changed) || then->links != now->links;
}
