/* SPDX-License-Identifier: Apache-2.0 */
/* root.h: the file tree of the task, made in the task's own mount namespace. */
#ifndef AGENT_ROOT_H
#define AGENT_ROOT_H

#include "base/err.h"
#include "job_read.h"

/*
 * Mount the image, the task's writable folders, /proc, /dev and a little of /sys, and make that "/"
 * of the calling process. The process must be in its own mount, pid and network namespaces.
 */
int root_enter(const struct job *job, struct err *err);

/* Mount the task's cgroup at /sys/fs/cgroup, read-only: runtimes read their limits there. */
int root_mount_cgroup(struct err *err);

#endif
