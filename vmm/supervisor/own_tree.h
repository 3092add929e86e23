/* SPDX-License-Identifier: Apache-2.0 */
/* own_tree.h: what the extractor made, before the user gets it (supervisor). */
#ifndef VMM_SUPERVISOR_OWN_TREE_H
#define VMM_SUPERVISOR_OWN_TREE_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Whether below the directory FD there is what the extractor must not make: anything but
 * directories and regular files, and a file with a set-id bit, which anybody on the host could run
 * as the caller: its system calls let it make one, should it be taken over. Nothing is followed.
 */
int own_tree_check(int fd, struct err *err);

/*
 * The same where a jail of root's made it: the directory FD and what is below it and belongs to
 * FROM becomes UID's and GID's. What else is found there is an error: FROM has been there alone.
 */
int own_tree(int fd, uid_t from, uid_t uid, gid_t gid, struct err *err);

#endif
