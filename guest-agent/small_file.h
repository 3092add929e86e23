/* SPDX-License-Identifier: Apache-2.0 */
/* small_file.h: the one-line files of /proc and of cgroups. Paths are the agent's own. */
#ifndef AGENT_SMALL_FILE_H
#define AGENT_SMALL_FILE_H

#include <stddef.h>

#include "base/err.h"

/* Write TEXT with one write(2) to the existing file PATH below DIR_FD (or AT_FDCWD). */
int small_file_write(int dir_fd, const char *path, const char *text, struct err *err);

/* Read PATH below DIR_FD into TEXT, terminated; what does not fit into SIZE is left out. */
int small_file_read(int dir_fd, const char *path, char *text, size_t size, struct err *err);

#endif
