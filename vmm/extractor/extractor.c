/* SPDX-License-Identifier: Apache-2.0 */
/* extractor.c: see extractor.h. The setup record is ours, the disk is hostile. */
#include "extractor/extractor.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "extractor/extract.h"
#include "extractor/powers.h"
#include "extractor/tree.h"
#include "ipc/ipc.h"
#include "jail/jail.h"

static int extractor_read_disk(
    void *context, void *buffer, size_t size, uint64_t offset, struct err *err)
{
    ssize_t count = fd_pread_all(EXTRACTOR_FD_DISK, buffer, size, offset);

    (void)context;
    if (count >= 0 && (size_t)count < size)
        errno = EIO; /* the file became shorter: nobody but the host could do that */
    if (count < 0 || (size_t)count < size)
        return err_sys(err, "cannot read the export disk");
    return 0;
}

static int extractor_send_entry(void *context, const struct ipc_entry *entry, struct err *err)
{
    (void)context;
    return ipc_send_entry(IPC_FD, entry, err);
}

static int extractor_wait_for_setup(struct ipc_extract *setup, struct err *err)
{
    static struct ipc_record record;
    int received = ipc_receive(IPC_FD, &record, err);

    if (received < 0)
        return -1;
    if (received == 0)
        return err_set(err, "the supervisor ended before the setup");
    return ipc_get_extract(&record, setup, err);
}

int extractor_run(struct err *err)
{
    struct archive_source source = {.read = extractor_read_disk};
    const struct extract_sink sink = {.entry = extractor_send_entry};
    struct ipc_extracted result;
    struct ipc_extract setup;
    struct jail jail;

    signal(SIGXFSZ, SIG_IGN); /* a file past RLIMIT_FSIZE is EFBIG */
    mallopt(M_MMAP_MAX, 0);   /* no mremap() and munmap(): the heap holds even the largest table */
    umask(022);
    if (jail_enter(&jail, &extractor_powers, err) < 0 || tree_draw_key(err) < 0 ||
        extractor_wait_for_setup(&setup, err) < 0 ||
        fd_size(EXTRACTOR_FD_DISK, &source.size_bytes, err) < 0 || jail_seal(&jail, err) < 0)
        return -1;
    extract_archive(&source, &setup, EXTRACTOR_FD_OUT, &sink, &result);
    return ipc_send_extracted(IPC_FD, &result, err);
}
