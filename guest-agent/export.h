/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: the declared artifacts, from below /task to the export disk (wire/archive.h). Runs when
 * every process of the task is dead, so nothing changes meanwhile; but every name, type, size and
 * link in the tree is the task's work.
 *
 * What the archive holds: names relative to /task, in one order (by bytes, a directory before what
 * is in it); each path once, however many of the declared ones cover it; for a declared path the
 * directories above it first. Regular files and directories only; everything else, and a declared
 * path or pattern that is missing, as SKIPPED with the reason; of
 * these only as many as caps.files are written, and the rest is counted. A SKIPPED record with the
 * name of the FILE right before it says that the file could not be read to its end.
 */
#ifndef AGENT_EXPORT_H
#define AGENT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

enum { EXPORT_DEPTH_MAX = 64 }; /* components of a directory's path */

/*
 * The user's caps. The extractor holds the archive to them; here they only save the work and the
 * space for what it would leave out anyway, and name the reason.
 */
struct export_caps {
    uint64_t total_bytes; /* of all files; holes count, as everywhere here */
    uint64_t file_bytes;
    uint64_t files; /* and directories */
    uint64_t depth; /* components of a path */
};

#define EXPORT_CAPS_NONE                                                                           \
    {                                                                                              \
        .total_bytes = UINT64_MAX, .file_bytes = UINT64_MAX, .files = UINT64_MAX,                  \
        .depth = UINT64_MAX                                                                        \
    }

/*
 * Write what PATTERNS (valid as in job_read.h) mean below the directory ROOT_FD to the disk DISK_FD
 * of DISK_BYTES. Fills EXPORTED but for the time. Needs nothing of the task but the tree.
 */
void export_run(int root_fd, const char *const *patterns, size_t pattern_count,
    const struct export_caps *caps, int disk_fd, uint64_t disk_bytes,
    struct wire_exported *exported);

#endif
