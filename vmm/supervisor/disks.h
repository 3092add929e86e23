/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disks.h: the disks of a run (supervisor): unnamed files, which vanish with the last process that
 * holds them, however it ends.
 */
#ifndef VMM_SUPERVISOR_DISKS_H
#define VMM_SUPERVISOR_DISKS_H

#include "ipc/ipc.h"
#include "supervisor/plan.h"

struct disks {
    int scratch;
    int export_disk;
    int export_readonly; /* the same file, for the extractor: export_disk.h */
    int import;          /* read-only; -1 without inputs */
};

#define DISKS_INIT                                                                                 \
    {                                                                                              \
        .scratch = -1, .export_disk = -1, .export_readonly = -1, .import = -1                      \
    }

/* Whichever opening of the export disk there is; -1 for none. */
static inline int disks_export_fd(const struct disks *disks)
{
    return disks->export_disk >= 0 ? disks->export_disk : disks->export_readonly;
}

/* Size of the export disk: the artifacts and what their archive adds. */
uint64_t disk_export_bytes(const struct config *config);

/*
 * The disks of a second machine that exports what the first left in OF: its scratch disk, opened
 * anew for reading only, and an export disk of its own.
 */
int disks_make_salvage(
    struct disks *disks, const struct disks *of, const struct plan *plan, struct err *err);

int disks_make(struct disks *disks, const struct plan *plan, struct err *err);
void disks_free(struct disks *disks);

/* What the monitor is told of the disk FD. */
int disk_describe(int fd, bool readonly, struct ipc_disk *disk, struct err *err);

/* Bytes that the file behind FD takes on the host; 0 for -1. */
uint64_t disk_allocated_bytes(int fd);

/* A new unnamed file in the directory of the disks. Returns the fd or -1. */
int disk_create(const struct plan *plan, struct err *err);

/* Copy the data of FROM to TO at the same offsets; holes and blocks of zeroes stay holes. */
int disk_copy_sparse(int to, int from, struct err *err);

#endif
