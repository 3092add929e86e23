/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: the second stage: every file of the run found, opened and checked, nothing created yet
 * (supervisor).
 */
#ifndef VMM_SUPERVISOR_PLAN_H
#define VMM_SUPERVISOR_PLAN_H

#include "supervisor/config.h"
#include "supervisor/file_stamp.h"

enum { PLAN_RUN_ID_BYTES = 32 };

/* What the command line adds to the task file. */
struct plan_request {
    const char *output; /* --output, relative to the working directory; NULL: [output] dir */
    bool console;
    bool dry; /* nothing will be run: KVM is not looked at, and kvm_fd stays -1 */
};

struct plan {
    const struct config *config;
    bool console;
    char run_id[PLAN_RUN_ID_BYTES];
    char *output; /* path of the output directory, which does not exist or is empty */
    char *kernel_path;
    char *initramfs_path;
    char *template_path;

    int programs_fd; /* directory of the executables */
    int kvm_fd;
    int kernel_fd;
    int initramfs_fd;
    int template_fd; /* pre-formatted scratch file system */
    int image_fd;
    int stdin_fd;    /* file:PATH; else -1 */
    int disk_dir_fd; /* where the disks of the run are made */
    int input_fds[CONFIG_INPUTS_MAX];

    struct file_stamp kernel_stamp, image_stamp; /* when they were opened */
    uint64_t kernel_ram_bytes;                   /* from the start of RAM to the kernel's end */
    uint64_t initramfs_bytes;
    bool image_digest_known;
    uint8_t image_digest[DIGEST_BYTES];
    char cmdline[IPC_TEXT_BYTES + 1];
};

/* PLAN is to be freed in both cases; CONFIG must outlive it. */
int plan_make(struct plan *plan, const struct config *config, const struct plan_request *request,
    struct err *err);
void plan_free(struct plan *plan);

/*
 * RAM of the host that the run may take at its peak: guest RAM, the processes of vmrun with the
 * tables that KVM keeps, and the disks where they lie on a tmpfs.
 */
uint64_t plan_host_memory_bytes(const struct plan *plan);

/* The directory that the running executable lies in. */
char *plan_programs_directory(void);

/* PATH ("kernel/vmlinux") in the directory above PROGRAMS. */
char *plan_installed_path(const char *programs, const char *path);

#endif
