/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h: manifest.json (supervisor), doc/manifest.schema.json: every file that came out and
 * everything that did not, with the reason. It lies beside the artifacts, not among them, so that
 * no name of the task's can meet it.
 */
#ifndef VMM_SUPERVISOR_MANIFEST_H
#define VMM_SUPERVISOR_MANIFEST_H

#include "supervisor/outcome.h"
#include "supervisor/plan.h"

#define MANIFEST_NAME "manifest.json"

/*
 * True when PATH can be written where names of files are less free than here: no component is one
 * of Windows' devices, has one of <>:"\|?* in it, or ends in a dot or blank.
 */
bool manifest_is_portable(const char *path);

/* Write it into the output directory: a temporary file, fsync, rename; an existing one is an error.
 */
int manifest_write(
    int output_fd, const struct plan *plan, const struct outcome *outcome, struct err *err);

#endif
