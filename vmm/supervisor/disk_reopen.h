/* SPDX-License-Identifier: Apache-2.0 */
/* disk_reopen.h: a disk changes hands, from one who wrote it to one who reads it (supervisor). */
#ifndef VMM_SUPERVISOR_DISK_REOPEN_H
#define VMM_SUPERVISOR_DISK_REOPEN_H

#include "base/err.h"

/* A second, read-only opening of the unnamed file behind FD. Returns the fd or -1. */
int disk_reopen_readonly(int fd, struct err *err);

#endif
