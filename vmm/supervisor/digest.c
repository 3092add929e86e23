/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "supervisor/digest.h"

#include <openssl/evp.h>

#include "base/fd.h"

void digest_memory(uint8_t digest[DIGEST_BYTES], const void *bytes, size_t size)
{
    int ok = EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL);

    must(ok == 1); /* fails only without memory */
}

void digest_begin(struct digest_work *work, int fd)
{
    int ok;

    *work = (struct digest_work){.context = EVP_MD_CTX_new(), .fd = fd};
    must(work->context != NULL);
    ok = EVP_DigestInit_ex(work->context, EVP_sha256(), NULL);
    must(ok == 1);
}

/* Returns as digest_go_on() does. */
static int digest_read(struct digest_work *work, uint64_t max_bytes, struct err *err)
{
    uint8_t buffer[65536];

    for (uint64_t done = 0; done < max_bytes;) {
        ssize_t count = fd_pread_all(work->fd, buffer, sizeof(buffer), work->offset);
        int ok;

        if (count < 0)
            return err_sys(err, "cannot read it to compute its SHA-256");
        if (count == 0)
            return 0;
        ok = EVP_DigestUpdate(work->context, buffer, (size_t)count);
        must(ok == 1);
        done += (uint64_t)count;
        work->offset += (uint64_t)count;
    }
    return 1;
}

int digest_go_on(
    struct digest_work *work, uint64_t max_bytes, uint8_t digest[DIGEST_BYTES], struct err *err)
{
    int more = digest_read(work, max_bytes, err);

    if (more > 0)
        return 1;
    if (more == 0) {
        int ok = EVP_DigestFinal_ex(work->context, digest, NULL);

        must(ok == 1);
    }
    digest_drop(work);
    return more;
}

void digest_drop(struct digest_work *work)
{
    EVP_MD_CTX_free(work->context);
    work->context = NULL;
}

int digest_file(uint8_t digest[DIGEST_BYTES], int fd, struct err *err)
{
    struct digest_work work;

    digest_begin(&work, fd);
    return digest_go_on(&work, UINT64_MAX, digest, err);
}
