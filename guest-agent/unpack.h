/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h: an input that is a .tar or .tar.gz becomes a directory (guest agent). The archive is
 * whatever the user was given by somebody else, so it is read by a process of its own, which is the
 * task's user without any rights and has the directory as its root (unpack_child.c). The agent
 * hands it the bytes and takes one message.
 */
#ifndef AGENT_UNPACK_H
#define AGENT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "job_read.h"

struct unpack {
    pid_t pid;
    int feed;   /* pipe to it */
    int status; /* pipe from it */
    int cgroup; /* that bounds its memory, and that of what it writes */
    bool full;  /* it wants no more */
};

/* Start to unpack into the directory FD. */
int unpack_start(struct unpack *unpack, const struct job *job, int fd, struct err *err);

/* The next SIZE bytes of the archive. That unpacking has failed already is told at the end. */
int unpack_feed(struct unpack *unpack, const void *bytes, size_t size, struct err *err);

/* Wait for it, after the last byte; fails when the archive could not be unpacked. */
int unpack_finish(struct unpack *unpack, struct err *err);

/* Instead of that, or after a start that failed: it is killed, and is gone when this returns. */
void unpack_stop(struct unpack *unpack);

#endif
