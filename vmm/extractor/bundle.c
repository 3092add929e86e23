/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c: see bundle.h. Content is hostile and opaque; it is packed as it is. */
#include "extractor/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/sha256.h"
#include "extractor/beneath.h"
#include "extractor/tar.h"

enum {
    BUNDLE_LEVEL = 6,
    BUNDLE_WINDOW_BITS = 15 + 16, /* 16: a gzip header */
    BUNDLE_MEMORY_LEVEL = 8,
    BUNDLE_OS_UNKNOWN = 255, /* RFC 1952 */
    BUNDLE_OUT_BYTES = 64 * 1024,
    BUNDLE_IN_BYTES = 64 * 1024,
};

struct bundle {
    int fd;
    uint64_t bytes; /* written */
    bool deflating; /* `stream` is to be ended */
    z_stream stream;
    gz_header header;
    struct sha256 hash;
    uint8_t headers[TAR_HEADERS_MAX];
    uint8_t in[BUNDLE_IN_BYTES];
    uint8_t out[BUNDLE_OUT_BYTES];
};

/* Level, window and header are fixed: nothing in the stream depends on the host or the time. */
static bool bundle_start(struct bundle *bundle)
{
    if (deflateInit2(&bundle->stream, BUNDLE_LEVEL, Z_DEFLATED, BUNDLE_WINDOW_BITS,
            BUNDLE_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    bundle->deflating = true;
    bundle->header.os = BUNDLE_OS_UNKNOWN;
    sha256_begin(&bundle->hash);
    return deflateSetHeader(&bundle->stream, &bundle->header) == Z_OK;
}

struct bundle *bundle_make(int dir_fd, struct err *err)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));

    if (!bundle) {
        err_sys(err, "no memory for the bundle");
        return NULL;
    }
    bundle->fd = open_beneath(dir_fd, BUNDLE_NAME, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (bundle->fd < 0) {
        err_sys(err, "cannot create the bundle");
    } else if (bundle_start(bundle)) {
        return bundle;
    } else {
        errno = ENOMEM;
        err_sys(err, "cannot set up the bundle");
    }
    bundle_free(bundle);
    return NULL;
}

void bundle_free(struct bundle *bundle)
{
    if (!bundle)
        return;
    if (bundle->deflating)
        deflateEnd(&bundle->stream);
    fd_close(&bundle->fd);
    free(bundle);
}

/* Compress BYTES; with Z_FINISH to the end of the stream. */
static int bundle_put(
    struct bundle *bundle, const uint8_t *bytes, size_t size, int flush, struct err *err)
{
    uint8_t *input;

    memcpy(&input, &bytes, sizeof(input)); /* zlib does not write to it, but says it may */
    bundle->stream.next_in = input;
    bundle->stream.avail_in = (uInt)size;
    for (;;) {
        size_t made;
        int status;

        bundle->stream.next_out = bundle->out;
        bundle->stream.avail_out = sizeof(bundle->out);
        status = deflate(&bundle->stream, flush);
        must(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR);
        made = sizeof(bundle->out) - bundle->stream.avail_out;
        sha256_add(&bundle->hash, bundle->out, made);
        if (fd_pwrite_all(bundle->fd, bundle->out, made, bundle->bytes) < 0)
            return err_sys(err, "cannot write the bundle");
        bundle->bytes += made;
        if (bundle->stream.avail_out > 0) /* all of the input is taken */
            return 0;
    }
}

int bundle_add_dir(struct bundle *bundle, const char *path, struct err *err)
{
    return bundle_put(bundle, bundle->headers, tar_dir(bundle->headers, path), Z_NO_FLUSH, err);
}

int bundle_add_file(struct bundle *bundle, const char *path, bool executable, int fd,
    uint64_t size_bytes, struct err *err)
{
    static const uint8_t zeroes[TAR_BLOCK_BYTES];
    size_t headers = tar_file(bundle->headers, path, executable ? 0755 : 0644, size_bytes);

    if (bundle_put(bundle, bundle->headers, headers, Z_NO_FLUSH, err) < 0)
        return -1;
    for (uint64_t at = 0; at < size_bytes;) {
        size_t want = (size_t)u64_min(size_bytes - at, sizeof(bundle->in));
        ssize_t count = fd_pread_all(fd, bundle->in, want, at);

        if (count >= 0 && (size_t)count < want)
            errno = EIO; /* our own file became shorter */
        if (count < 0 || (size_t)count < want)
            return err_sys(err, "cannot read an artifact back");
        if (bundle_put(bundle, bundle->in, want, Z_NO_FLUSH, err) < 0)
            return -1;
        at += want;
    }
    return bundle_put(bundle, zeroes, tar_padding(size_bytes), Z_NO_FLUSH, err);
}

int bundle_end(
    struct bundle *bundle, uint64_t *bytes, uint8_t digest[IPC_DIGEST_BYTES], struct err *err)
{
    static const uint8_t zeroes[TAR_END_BYTES];

    if (bundle_put(bundle, zeroes, sizeof(zeroes), Z_FINISH, err) < 0)
        return -1;
    sha256_end(&bundle->hash, digest);
    *bytes = bundle->bytes;
    if (fsync(bundle->fd) < 0 || close(fd_take(&bundle->fd)) < 0)
        return err_sys(err, "cannot finish the bundle");
    return 0;
}
