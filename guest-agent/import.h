/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: the task's inputs, from the import disk (wire/archive.h) to below /task. */
#ifndef AGENT_IMPORT_H
#define AGENT_IMPORT_H

#include "base/err.h"
#include "job_read.h"

/*
 * Unpack the import disk that FD reads below the directory ROOT_FD. Everything belongs to the user
 * of JOB; archives that JOB names become directories (unpack.h). On failure the message names the
 * input.
 */
int import_unpack(int fd, int root_fd, const struct job *job, struct err *err);

#endif
