/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: the declared artifacts, from below /task to the export disk (wire/archive.h). Runs when
 * every process of the task is dead, so nothing changes meanwhile; but every name, type, size and
 * link in the tree is the task's work.
 *
 * What the archive holds: names relative to /task, in one order (by bytes, a directory before what
 * is in it); each path once, however many of the declared ones cover it; for a declared path the
 * directories above it first. Regular files and directories only; everything else, and a declared
 * path that is missing, as SKIPPED with the reason. A SKIPPED record with the name of the FILE
 * right before it says that the file could not be read to its end.
 */
#ifndef AGENT_EXPORT_H
#define AGENT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

enum { EXPORT_DEPTH_MAX = 64 }; /* components of a directory's path */

/*
 * Write PATHS (valid as in job_read.h) below the directory ROOT_FD to the disk DISK_FD of
 * DISK_BYTES. PATHS is sorted in place. Fills EXPORTED but for the time.
 */
void export_run(int root_fd, const char **paths, size_t path_count, int disk_fd,
    uint64_t disk_bytes, struct wire_exported *exported);

#endif
