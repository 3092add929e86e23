/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd.h: file descriptors (all processes). "None" is -1; every fd we open is close-on-exec.
 *
 *     AUTO_FD int fd = open(...);   closed when it leaves scope
 *     return fd_take(&fd);          handed over instead
 *
 * The *_all functions retry on EINTR and on short transfers; they are for files and blocking fds.
 */
#ifndef VMM_BASE_FD_H
#define VMM_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Close *FD if it is not -1 and set it to -1. errno is kept. */
void fd_close(int *fd);

#define AUTO_FD __attribute__((cleanup(fd_close)))

/* The value of *FD, which becomes -1. */
int fd_take(int *fd);

/* Read until SIZE bytes or end of file. Returns the count, or -1 with errno. */
ssize_t fd_read_all(int fd, void *buffer, size_t size);

/* The same at OFFSET. */
ssize_t fd_pread_all(int fd, void *buffer, size_t size, uint64_t offset);

/* Write all of SIZE bytes. Returns 0, or -1 with errno. */
int fd_write_all(int fd, const void *buffer, size_t size);

/* The same at OFFSET. */
int fd_pwrite_all(int fd, const void *buffer, size_t size, uint64_t offset);

/* Size of the regular file or block device behind FD, in bytes. */
int fd_size(int fd, uint64_t *size, struct err *err);

/* O_NONBLOCK on. */
int fd_set_nonblocking(int fd, struct err *err);

#endif
