/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h: the artifacts as one tar.gz (extractor), byte for byte the same whenever the same
 * entries are added in the same order. Entries were judged before they come here. Errors carry an
 * errnum: the host could not write.
 */
#ifndef VMM_EXTRACTOR_BUNDLE_H
#define VMM_EXTRACTOR_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/ipc.h"

struct bundle;

/* Creates BUNDLE_NAME in the directory DIR_FD. Freed by bundle_free(), which takes NULL. */
struct bundle *bundle_make(int dir_fd, struct err *err);
void bundle_free(struct bundle *bundle);

int bundle_add_dir(struct bundle *bundle, const char *path, struct err *err);

/* The content is read from FD, SIZE_BYTES from its beginning. */
int bundle_add_file(struct bundle *bundle, const char *path, bool executable, int fd,
    uint64_t size_bytes, struct err *err);

/* The last bytes; BYTES and DIGEST (SHA-256) are those of the whole file. */
int bundle_end(
    struct bundle *bundle, uint64_t *bytes, uint8_t digest[IPC_DIGEST_BYTES], struct err *err);

#endif
