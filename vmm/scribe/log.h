/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h: one stream's log file, bounded (scribe). The bytes are hostile and never looked at.
 *
 * A stream that fits its cap is kept whole. Of a longer one the first three quarters of the cap and
 * the last quarter are kept: the last quarter of the file is a ring while the stream runs, and
 * log_finish() turns it so that the file is the head and then the tail, nothing between them.
 *
 * A write that fails ends the keeping, not the stream: `error` is set, what was written before
 * stays, everything later is counted and dropped.
 */
#ifndef VMM_SCRIBE_LOG_H
#define VMM_SCRIBE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

enum { LOG_DIGEST_BYTES = 32 }; /* SHA-256 */

struct log {
    int fd;
    uint64_t cap_bytes;
    uint64_t head_bytes;  /* of the cap: kept from the beginning of the stream; the rest is tail */
    uint64_t total_bytes; /* of the stream so far */
    uint64_t written_bytes; /* of the stream so far, until a write failed: total_bytes otherwise */
    int error;              /* errno of the failed write or read, 0 */
    bool finished;
};

/* FD is an empty file, readable and writable, without O_APPEND (it would void the ring); not
 * closed. */
void log_init(struct log *log, int fd, uint64_t cap_bytes);

void log_append(struct log *log, const void *bytes, size_t size);

/* The end of the stream: after this the file is final and DIGEST is that of its bytes. */
void log_finish(struct log *log, uint8_t digest[LOG_DIGEST_BYTES]);

/* Bytes in the file. */
uint64_t log_kept_bytes(const struct log *log);

/* Bytes of the stream that the file no longer holds, or never did. */
bool log_is_cut(const struct log *log);

/* Where in the stream the gap of a cut one begins. */
uint64_t log_gap_bytes(const struct log *log);

/*
 * Read the stream from *POSITION on, at most SIZE bytes: only what the file holds for good. That is
 * the head and, while the stream fits the cap, everything; after log_finish() the tail too, and
 * then *POSITION is first moved over the gap. Advances *POSITION; returns 0 when there is nothing
 * now.
 */
size_t log_read(struct log *log, uint64_t *position, void *buffer, size_t size);

#endif
