/* SPDX-License-Identifier: Apache-2.0 */
/* output_dir.h: the directory that the user gets (supervisor). */
#ifndef VMM_SUPERVISOR_OUTPUT_DIR_H
#define VMM_SUPERVISOR_OUTPUT_DIR_H

#include "base/err.h"

/* The result while it is written; from the start on it marks the directory as a run's. */
#define OUTPUT_RESULT_PARTIAL ".result.json.partial"
#define OUTPUT_RESULT         "result.json"

/*
 * Make PATH and what is missing above it; it may exist when it is empty. Only one run gets it: of
 * two that found it empty the second is refused. Returns the fd or -1.
 */
int output_create(const char *path, struct err *err);

/* A new empty file NAME in it, read-write. */
int output_create_file(int output_fd, const char *name, struct err *err);

/* A fresh 0700 directory for the extractor. Returns its fd or -1. */
int output_begin_artifacts(int output_fd, struct err *err);
/* It becomes artifacts/, by one rename. */
int output_publish_artifacts(int output_fd, int artifacts_fd, struct err *err);
/* It is removed with all that is in it; artifacts/ is empty then. */
int output_discard_artifacts(int output_fd, struct err *err);

#endif
