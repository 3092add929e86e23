/* SPDX-License-Identifier: Apache-2.0 */
/* input_open.h: opening what a task gets as input (supervisor; the files are the user's). */
#ifndef VMM_SUPERVISOR_INPUT_OPEN_H
#define VMM_SUPERVISOR_INPUT_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

enum input_links {
    INPUT_BENEATH,        /* no link on the way, and nothing outside of the directory */
    INPUT_BENEATH_LINKS,  /* links that stay beneath the directory */
    INPUT_ANYWHERE,       /* the user's own path; only its last component may not be a link */
    INPUT_ANYWHERE_LINKS, /* the same, and that may be one too */
};

/*
 * Open PATH, from DIRECTORY, for reading. Regular files and directories only: what else there is
 * gets refused by its kind without being opened, since to open a device or a FIFO is to act on it.
 * With INPUT_BENEATH* nothing outside DIRECTORY is reached, whatever is renamed meanwhile. STATUS
 * is that of the file behind the fd that is returned; -1 on an error.
 */
int input_open(
    int directory, const char *path, enum input_links links, struct stat *status, struct err *err);

#endif
