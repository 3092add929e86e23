/* SPDX-License-Identifier: Apache-2.0 */
/* export_disk.c: see export_disk.h. */
#include "supervisor/export_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/disk_reopen.h"

/*
 * A read lease is given only while nobody has the file open for writing. File systems without
 * leases (NFS) do not tell.
 */
static bool disk_has_writer(int fd)
{
    bool busy = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;

    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return busy;
}

int export_disk_seal(struct disks *disks, struct err *err)
{
    /*
     * The machine's flushes end in the page cache, and what the host then fails to write back is
     * told to nobody but to a sync. On a tmpfs it costs nothing, on a real disk the writing of what
     * the guest exported; the other disks are let go of before and cost nothing any more.
     */
    if (fdatasync(disks->export_disk) < 0)
        return err_sys(err, "the host cannot write the export disk");
    disks->export_readonly = disk_reopen_readonly(disks->export_disk, err);
    if (disks->export_readonly < 0)
        return -1;
    fd_close(&disks->export_disk);
    if (disk_has_writer(disks->export_readonly))
        return err_set(err, "a process that should be gone can still write to the export disk");
    return 0;
}
