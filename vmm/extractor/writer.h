/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h: directories and files below one output directory (extractor). Paths come from tree.h:
 * relative, judged, unique. All the same the kernel is told to stay beneath the directory, to
 * follow no link and to create only what is not there.
 *
 * Modes are 0644 or 0755 (the process has umask 022). Ownership, times and attributes are the
 * host's. One file is open at a time. Errors carry an errnum: the host could not write.
 */
#ifndef VMM_EXTRACTOR_WRITER_H
#define VMM_EXTRACTOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FILE_DIGEST_BYTES = 32 }; /* SHA-256 */

struct file_writer;

/*
 * DIR_FD stays the caller's. LASTS: what is made is kept, and file_writer_sync() will be called;
 * else nothing is synced. Freed by file_writer_free(), which takes NULL.
 */
struct file_writer *file_writer_make(int dir_fd, bool lasts, struct err *err);
void file_writer_free(struct file_writer *writer);

int file_writer_mkdir(struct file_writer *writer, const char *path, struct err *err);

int file_writer_begin(
    struct file_writer *writer, const char *path, bool executable, struct err *err);
/* OFFSET is at or past the end of the last data; what lies between is a hole. */
int file_writer_data(struct file_writer *writer, uint64_t offset, const uint8_t *bytes, size_t size,
    struct err *err);
/* The file gets SIZE bytes, at least where the last data ended; DIGEST is that of all of them. */
int file_writer_end(
    struct file_writer *writer, uint64_t size, uint8_t digest[FILE_DIGEST_BYTES], struct err *err);

/* Instead of file_writer_end(): the open file, which has this PATH, is removed again. */
int file_writer_drop(struct file_writer *writer, const char *path, struct err *err);

/*
 * All that was made is on stable storage, or an error. The names in the output directory itself are
 * whoever's that publishes it.
 */
int file_writer_sync(struct file_writer *writer, struct err *err);

#endif
