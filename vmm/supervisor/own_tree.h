/* SPDX-License-Identifier: Apache-2.0 */
/* own_tree.h: files that a jail of root's made become the caller's (supervisor). */
#ifndef VMM_SUPERVISOR_OWN_TREE_H
#define VMM_SUPERVISOR_OWN_TREE_H

#include <sys/types.h>

#include "base/err.h"

/*
 * The directory FD and what is below it and belongs to FROM becomes UID's and GID's. What else is
 * found there is an error: FROM has been there alone. Nothing is followed.
 */
int own_tree(int fd, uid_t from, uid_t uid, gid_t gid, struct err *err);

#endif
