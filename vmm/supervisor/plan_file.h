/* SPDX-License-Identifier: Apache-2.0 */
/* plan_file.h: opening and checking the files of a plan; private to plan.c (supervisor). */
#ifndef VMM_SUPERVISOR_PLAN_FILE_H
#define VMM_SUPERVISOR_PLAN_FILE_H

#include "supervisor/plan.h"

/* Each sets the fd of the plan that is in its name. */
int plan_open_image(struct plan *plan, struct err *err);
int plan_open_kernel(struct plan *plan, struct err *err);
int plan_open_initramfs(struct plan *plan, struct err *err);
int plan_open_template(struct plan *plan, struct err *err);
int plan_open_stdin(struct plan *plan, struct err *err);

/* Kernel and initramfs, which are open, can be loaded into the RAM that the task gives them. */
int plan_check_memory(const struct plan *plan, struct err *err);

/* What is wrong with an image that begins with HEAD (SIZE bytes in all); NULL when nothing is. */
enum { IMAGE_HEAD_BYTES = 2048 };
const char *image_problem(const uint8_t head[IMAGE_HEAD_BYTES], uint64_t size);

/* disk_dir_fd, opened from PATH, can hold the disks: not a tmpfs unless that was asked for. */
int plan_check_disk_directory(const struct plan *plan, const char *path, struct err *err);

#endif
