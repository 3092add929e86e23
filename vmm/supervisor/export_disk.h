/* SPDX-License-Identifier: Apache-2.0 */
/* export_disk.h: the export disk changes hands, from the machine to the extractor (supervisor). */
#ifndef VMM_SUPERVISOR_EXPORT_DISK_H
#define VMM_SUPERVISOR_EXPORT_DISK_H

#include "base/err.h"
#include "supervisor/disks.h"

/*
 * To be called when the monitor is gone: the disk is opened anew, read-only, and our own writable
 * fd is closed. An error when the host lost something of it on the way to its own disk, and when
 * somebody can still write to it: what is checked later would not be what was written then.
 */
int export_disk_seal(struct disks *disks, struct err *err);

#endif
