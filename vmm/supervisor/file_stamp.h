/* SPDX-License-Identifier: Apache-2.0 */
/* file_stamp.h: is a file of the user's still what it was when it was opened (supervisor). */
#ifndef VMM_SUPERVISOR_FILE_STAMP_H
#define VMM_SUPERVISOR_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* What a write changes, though the clock of mtime and ctime is coarse: some milliseconds. */
struct file_stamp {
    uint64_t device, inode, size, links;
    struct timespec modified, changed;
};

struct file_stamp file_stamp_of(const struct stat *status);

/*
 * NOW is of the same file, not written since THEN. Only a name of it may have been made or removed:
 * another file that takes its place by rename(2) leaves this one as it is.
 */
bool file_stamp_unwritten(const struct file_stamp *then, const struct file_stamp *now);

#endif
