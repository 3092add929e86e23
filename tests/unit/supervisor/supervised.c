/* SPDX-License-Identifier: Apache-2.0 */
/* supervised.c: see supervised.h. */
#include "tests/unit/supervisor/supervised.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/file_digest.h"
#include "supervisor/output_dir.h"

char root[64];
struct config config;
struct plan plan;
struct disks disks;
struct outcome outcome;
struct supervision run;
struct verdict verdict;
int output_fd = -1;
struct supervise_room room;
static char any_text[] = "x";

/* disks.c stays out: what it makes are files without a name. */
int disk_create(const struct plan *unused, struct err *err)
{
    int fd = memfd_create("disk", MFD_CLOEXEC);

    (void)unused;
    return fd < 0 ? err_sys(err, "memfd_create") : fd;
}

/* image_verify.c as well, and with it the user's cache. */
bool image_lasts;

bool file_digest_lasts(int fd)
{
    return fd == plan.image_fd && image_lasts;
}

bool file_digest_recall(int fd, uint8_t digest[DIGEST_BYTES])
{
    (void)digest;
    assert_int_equal(fd, plan.kernel_fd); /* the plan has recalled that of the image */
    return false;
}

int file_digest_compute(int fd, uint8_t digest[DIGEST_BYTES], struct err *err)
{
    if (fd == plan.kernel_fd)
        return digest_file(digest, fd, err);
    assert_int_equal(fd, plan.image_fd);
    memset(digest, 7, DIGEST_BYTES);
    return 0;
}

int salvage_disks_made;

int disks_make_salvage(
    struct disks *made, const struct disks *of, const struct plan *unused, struct err *err)
{
    (void)unused;
    assert_ptr_equal(of, &disks);
    salvage_disks_made++;
    *made = (struct disks){.scratch = open("/dev/null", O_RDONLY | O_CLOEXEC),
        .export_disk = disk_create(&plan, err),
        .export_readonly = open("/dev/null", O_RDONLY | O_CLOEXEC),
        .import = -1};
    return ftruncate(made->export_disk, 4096);
}

void disks_free(struct disks *made)
{
    fd_close(&made->scratch);
    fd_close(&made->export_disk);
    fd_close(&made->export_readonly);
}

int disk_describe(int fd, bool readonly, struct ipc_disk *disk, struct err *err)
{
    (void)fd;
    (void)err;
    *disk = (struct ipc_disk){.bytes = 4096, .readonly = readonly};
    return 0;
}

uint64_t disk_allocated_bytes(int fd)
{
    return fd < 0 ? 0 : 4096;
}

/* The three names beside each other, all this executable. */
static void make_programs(void)
{
    static const char *const names[] = {"vmrun-monitor", "vmrun-scribe", "vmrun-extractor"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(length > 0);
    self[length] = '\0';
    plan.programs_fd = open(root, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(symlinkat(self, plan.programs_fd, names[i]), 0);
}

int set_up(void **state)
{
    struct stat status;
    AUTO_FREE char *out = NULL;
    struct err err = ERR_INIT;
    bool created;

    (void)state;
    strcpy(root, "/tmp/supervise_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    memset(&config, 0, sizeof(config));
    text_list_add(&config.argv, "true");
    config.path = config.workdir = config.hostname = any_text;
    /* Far away on a busy machine too; a test that waits for one sets its own. */
    config.boot_ns = 30 * NS_PER_S;
    config.wall_ns = config.idle_ns = 30 * NS_PER_S;
    config.cpu_ns = 30 * NS_PER_S;
    config.vcpus = 1;
    config.stdout_bytes = config.stderr_bytes = 4 << 20;
    config.artifacts_files = 10;
    memset(&plan, 0, sizeof(plan));
    memset(&outcome, 0, sizeof(outcome));
    /* What a test that runs nothing has to free. */
    run.loop.epoll_fd = run.signal_fd = run.artifacts_fd = -1;
    run.monitor = run.scribe = run.extractor = run.salvager = (struct child)CHILD_INIT;
    run.live[0] = run.live[1] = (struct live)LIVE_INIT;
    make_programs();
    out = text_format("%s/out", root);
    output_fd = output_create(out, &created, &err);
    room.output_fd = output_fd;
    plan.config = &config;
    plan.disk_dir_fd = output_fd;
    plan.kvm_fd = open("/dev/null", O_RDWR);
    plan.initramfs_fd = plan.image_fd = plan.kvm_fd;
    assert_int_equal(fstat(plan.image_fd, &status), 0);
    plan.image_stamp = file_stamp_of(&status);
    plan.kernel_fd = memfd_create("script", 0);
    plan.stdin_fd = -1;
    strcpy(plan.run_id, "run-1");
    disks = (struct disks){.scratch = memfd_create("scratch", MFD_CLOEXEC),
        .export_disk = memfd_create("e", 0),
        .export_readonly = open("/dev/null", O_RDONLY),
        .import = -1};
    assert_int_equal(ftruncate(disks.scratch, 4096), 0);
    outcome.moments_ns[MOMENT_BEGIN] = clock_mono_ns();
    return 0;
}

int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    supervise_free(&run);
    outcome_free(&outcome);
    text_list_free(&config.argv);
    text_list_free(&config.collect);
    fd_close(&disks.scratch);
    fd_close(&disks.export_disk);
    fd_close(&disks.export_readonly);
    fd_close(&plan.kvm_fd);
    fd_close(&plan.kernel_fd);
    fd_close(&plan.stdin_fd);
    fd_close(&plan.programs_fd);
    fd_close(&output_fd);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return system(command);
}

void supervise_script(const char *script)
{
    assert_int_equal(fd_write_all(plan.kernel_fd, script, strlen(script)), 0);
    supervise(&run, &plan, &disks, &room, &outcome, NULL);
    verdict = verdict_make(&config, &outcome);
}

void assert_verdict(const char *status, int code)
{
    if (strcmp(verdict.status, status) != 0 || verdict.code != code)
        fail_msg("%s, %d (%s) where %s, %d was due", verdict.status, verdict.code, verdict.reason,
            status, code);
}

bool output_has(const char *name)
{
    return faccessat(output_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
