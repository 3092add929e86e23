/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_child.h: the process that reads an archive: the task's user, without capabilities, alone
 * in its namespaces, with a directory as its root, a handful of system calls and three open files.
 */
#ifndef AGENT_UNPACK_CHILD_H
#define AGENT_UNPACK_CHILD_H

#include "base/err.h"
#include "job_read.h"
#include "tar.h"

/* Take over the process: the archive comes from FEED; what is wrong with it goes to STATUS. */
_Noreturn void unpack_child_run(const struct job *job, int feed, int status, int directory);

/* What it then does: the archive in FEED becomes files beneath DIRECTORY. */
int unpack_archive(int feed, int directory, const struct tar_limits *limits, struct err *err);

#endif
