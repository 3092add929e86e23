/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h: the inputs of a task as one archive (wire/archive.h) on the import disk (supervisor;
 * the files are the user's and may change while they are read).
 *
 * Regular files and directories only; anything else, a symbolic link above all, is an error and not
 * skipped, so that a task never runs on half of its input. With follow_links a link counts as what
 * it leads to, as long as that lies beneath the directory that the input names. Names are packed in
 * byte order. What changes while it is read is an error. Holes stay holes.
 */
#ifndef VMM_SUPERVISOR_IMPORT_H
#define VMM_SUPERVISOR_IMPORT_H

#include "supervisor/config.h"

/* SOURCE_FDS are open on the sources, in the order of config->inputs. *BYTES: length of the
 * archive. */
int import_pack(const struct config *config, const int *source_fds, int out_fd, uint64_t *bytes,
    struct err *err);

#endif
