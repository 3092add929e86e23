/* SPDX-License-Identifier: Apache-2.0 */
/* task_child.h: what runs in the task's init and main processes (task.h). */
#ifndef AGENT_TASK_CHILD_H
#define AGENT_TASK_CHILD_H

#include <stddef.h>

#include "job_read.h"

/* The fds that init starts with; it closes all others. */
struct task_child {
    const struct job *job;
    int cgroup; /* directory of the task's cgroup */
    int status;
    int gate;
    int stdin_fd; /* -1: /dev/null */
    int stdout_fd;
    int stderr_fd;
};

#define TASK_CHILD_INIT                                                                            \
    {                                                                                              \
        .job = NULL, .cgroup = -1, .status = -1, .gate = -1, .stdin_fd = -1, .stdout_fd = -1,      \
        .stderr_fd = -1                                                                            \
    }

/* The life of the init; CHILD is changed. */
_Noreturn void task_child_run(struct task_child *child);

#endif
