/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h: the task's processes, seen from the agent.
 *
 *     agent (PID 1 of the machine)
 *       └ init: PID 1 of the task's pid namespace; makes the task's file tree, then only reaps
 *           └ main: the command, in the task's cgroup; waits at the gate before execve
 *
 * The init is there because the kernel treats the first process of a namespace differently: signals
 * without a handler do not reach it, and orphans become its children. It is outside the task's
 * cgroup, so it is alive to report when the whole cgroup is killed, and it ends when no process of
 * the task is left: the end of the status pipe says that everything is dead.
 */
#ifndef AGENT_TASK_H
#define AGENT_TASK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "job_read.h"
#include "wire/wire.h"

enum task_event_kind {
    TASK_READY = 1,  /* main is at the gate: everything but execve is done */
    TASK_FAILED = 2, /* main will not run: how, code, text */
    TASK_EXITED = 3, /* main ended: code is its wait status; follows a TASK_FAILED too */
};

/* How of a TASK_FAILED that is the agent's own failure, not the task's: FATAL. */
enum { TASK_HOW_FATAL = 0 };

/* What init and main write to the status pipe; less than PIPE_BUF, so never torn. */
struct task_event {
    uint32_t kind;
    uint32_t how; /* enum wire_how */
    uint32_t code;
    char text[WIRE_TEXT_BYTES + 1];
};

struct task {
    pid_t init;
    int cgroup;
    int status_fd; /* task_event_read() */
    int gate_fd;
    int stdin_fd; /* -1: /dev/null */
    int stdout_fd;
    int stderr_fd;
};

#define TASK_INIT                                                                                  \
    {                                                                                              \
        .init = -1, .cgroup = -1, .status_fd = -1, .gate_fd = -1, .stdin_fd = -1, .stdout_fd = -1, \
        .stderr_fd = -1                                                                            \
    }

/* Start init and main; main stops at the gate. The fds that come back are non-blocking. */
int task_start(struct task *task, const struct job *job, struct err *err);

/* Let main call execve. */
int task_open_gate(struct task *task, struct err *err);

/* The next event: 1 and EVENT, 0 when init has ended, -1 when there is none yet. */
int task_event_read(struct task *task, struct task_event *event);

/* Wait for init, which has ended or is about to. */
void task_reap(struct task *task);

#endif
