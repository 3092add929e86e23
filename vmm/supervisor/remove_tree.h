/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_tree.h: rm -r for trees whose content is hostile (supervisor): by directory fds, through
 * no link, onto no other file system, and bounded in depth and number.
 */
#ifndef VMM_SUPERVISOR_REMOVE_TREE_H
#define VMM_SUPERVISOR_REMOVE_TREE_H

#include <stdint.h>

#include "base/err.h"

enum { REMOVE_DEPTH_MAX = 80 };

/*
 * Remove the entry NAME of the directory PARENT_FD, whatever it is; nothing there is success. Each
 * entry counts down *BUDGET; at 0 it ends with an error and what was removed so far stays removed.
 */
int remove_tree(int parent_fd, const char *name, uint64_t *budget, struct err *err);

/* Everything in the directory FD but KEEP (may be NULL). */
int remove_content(int fd, const char *keep, uint64_t *budget, struct err *err);

#endif
