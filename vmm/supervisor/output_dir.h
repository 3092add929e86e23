/* SPDX-License-Identifier: Apache-2.0 */
/* output_dir.h: the directory that the user gets (supervisor). */
#ifndef VMM_SUPERVISOR_OUTPUT_DIR_H
#define VMM_SUPERVISOR_OUTPUT_DIR_H

#include <stdbool.h>

#include "base/err.h"

/* What is half-made in it carries the run's ID, so that a killed run can be told from others. */
enum { OUTPUT_PARTIAL_RESULT, OUTPUT_PARTIAL_ARTIFACTS, OUTPUT_PARTIAL_MANIFEST, OUTPUT_PARTIALS };
enum { OUTPUT_PARTIAL_BYTES = 64 };
void output_partial_name(char name[OUTPUT_PARTIAL_BYTES], int partial, const char *run_id);

/*
 * Make PATH and what is missing above it; it may exist when it is empty, and *CREATED is false
 * then. Returns the fd or -1. As long as the fd is open, the directory is refused to any other run.
 */
int output_create(const char *path, bool *created, struct err *err);

/* A new empty file NAME in it, read-write. */
int output_create_file(int output_fd, const char *name, struct err *err);

/* A fresh 0700 directory for the extractor. Returns its fd or -1. */
int output_begin_artifacts(int output_fd, const char *run_id, struct err *err);
/*
 * It becomes artifacts/, by one rename; a BUNDLE in it, which must be all there is, becomes a file
 * in the output directory. After an error nothing is published.
 */
int output_publish_artifacts(
    int output_fd, const char *run_id, int artifacts_fd, bool bundle, struct err *err);
/* It is removed with all that is in it; artifacts/ is empty then, with BUNDLE it is not made. */
int output_discard_artifacts(int output_fd, const char *run_id, bool bundle, struct err *err);

/*
 * One rename of NAME to TO, which must not exist; then TO's directory is on stable storage. When it
 * cannot be brought there, the rename is undone.
 */
int output_publish(int from_fd, const char *name, int to_fd, const char *to, struct err *err);

#endif
