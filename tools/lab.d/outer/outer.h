/* SPDX-License-Identifier: Apache-2.0 */
/* The outer machine's PID 1: what its files give each other. */
#ifndef LAB_OUTER_H
#define LAB_OUTER_H

#include <stddef.h>
#include <sys/types.h>

#include "../channel.h"
#include "job.h"

enum {
    LAB_UID = 1000,
    LAB_GID = 1000,
};

/* init.c */
/* Sends one frame; ends the machine when the channel is gone. */
void channel_send(enum frame_type type, const void *bytes, size_t length);
/* Says why the lab cannot go on (over the channel and on the console) and stops the machine. */
__attribute__((noreturn, format(printf, 1, 2))) void lab_fail(const char *format, ...);

/* boot.c */
/* Mounts /proc, /sys, /dev and loads the modules that the initramfs carries. */
void boot_devices(void);
/* Builds the file tree the command sees and moves it to /. */
void boot_root(const struct job *job);
/* Writes text to a file; failure is returned, -1 with errno. */
int file_write(const char *path, const char *text);

/* limits.c */
/* Enables the cgroup controllers and makes the command's group (delegated when job->user). */
void cgroup_make(const struct job *job);
/* Puts the calling process into the command's group. */
void cgroup_enter(void);
/* The number of the kvm group, from /etc/group. */
gid_t kvm_gid(void);
/* Gives the unprivileged user a passwd entry and a home directory. */
void user_make(void);

/* command.c */
struct command {
    pid_t pid;
    int in;  /* write end of its stdin, -1 without */
    int out; /* read ends, non-blocking */
    int err;
};
void command_start(struct command *command, const struct job *job);

/* report.c */
/* Sends the process list as FRAME_REPORT frames; the empty one that ends a report is the caller's.
 */
void report_send(void);

#endif
