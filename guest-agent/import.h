/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: the task's inputs, from the import disk (wire/archive.h) to below /task. */
#ifndef AGENT_IMPORT_H
#define AGENT_IMPORT_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Unpack the archive that FD reads below the directory ROOT_FD. Everything belongs to UID and GID.
 * On failure the message names the input.
 */
int import_unpack(int fd, int root_fd, uid_t uid, gid_t gid, struct err *err);

#endif
