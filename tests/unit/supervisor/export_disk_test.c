/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=fdatasync */
/* export_disk_test.c: the disk is the extractor's only when nobody else can write to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/export_disk.h"
#include "tests/unit/unit.h"

static struct disks disks;

static int synced_fd, sync_errnum;

int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    synced_fd = fd;
    errno = sync_errnum;
    return sync_errnum ? -1 : 0;
}

static int set_up(void **state)
{
    char path[] = "/tmp/vmrun-unit-XXXXXX";

    (void)state;
    disks = (struct disks)DISKS_INIT;
    synced_fd = -1;
    sync_errnum = 0;
    disks.export_disk = mkostemp(path, O_CLOEXEC);
    assert_true(disks.export_disk >= 0);
    assert_int_equal(unlink(path), 0); /* as unnamed as O_TMPFILE */
    assert_int_equal(fd_write_all(disks.export_disk, "bytes", 5), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fd_close(&disks.export_disk);
    fd_close(&disks.export_readonly);
    return 0;
}

static void it_is_opened_anew_and_read_only(void **state)
{
    struct err err = ERR_INIT;
    char bytes[8];

    (void)state;
    assert_int_equal(export_disk_seal(&disks, &err), 0);
    assert_int_equal(disks.export_disk, -1);
    assert_int_equal(disks_export_fd(&disks), disks.export_readonly);
    assert_int_equal(fd_pread_all(disks.export_readonly, bytes, sizeof(bytes), 0), 5);
    assert_int_equal(write(disks.export_readonly, "x", 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(fcntl(disks.export_readonly, F_GETLEASE), F_UNLCK);
}

/* As a disk of the host does that is full or broken: no write ever failed. */
static void what_the_host_could_not_write_back_is_noticed(void **state)
{
    const int failures[] = {EIO, ENOSPC, EDQUOT};
    int written = disks.export_disk;

    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        struct err err = ERR_INIT;

        sync_errnum = failures[i];
        assert_int_equal(export_disk_seal(&disks, &err), -1);
        assert_int_equal(err.errnum, failures[i]);
        assert_non_null(strstr(err.text, "the host cannot write the export disk: "));
        assert_int_equal(disks.export_readonly, -1); /* nobody reads it */
        assert_int_equal(synced_fd, written);        /* the opening that saw the writes */
    }
}

static void somebody_who_can_still_write_is_noticed(void **state)
{
    struct err err = ERR_INIT;
    int other = dup(disks.export_disk);

    (void)state;
    assert_int_equal(export_disk_seal(&disks, &err), -1);
    assert_non_null(strstr(err.text, "can still write"));
    close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    TEST(it_is_opened_anew_and_read_only),
    TEST(what_the_host_could_not_write_back_is_noticed),
    TEST(somebody_who_can_still_write_is_noticed),
};

UNIT_MAIN(tests)
