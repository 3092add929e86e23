/* SPDX-License-Identifier: Apache-2.0 */
/* task.c: see task.h. */
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/fd.h"
#include "cgroup.h"
#include "task_child.h"

enum { TASK_PIPE_BYTES = 256 << 10 };

/*
 * A pipe whose ends are ENDS[0] for the agent and ENDS[1] for the task. It belongs to the task's
 * user, who may so open /dev/stdout by name; it is a pipe because a socket could not be opened.
 */
static int task_make_stream(
    int *agent_end, int *task_end, bool to_task, const struct job *job, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    *agent_end = ends[to_task ? 1 : 0];
    *task_end = ends[to_task ? 0 : 1];
    if (fchown(*task_end, job->uid, job->gid) < 0)
        return err_sys(err, "cannot give a pipe to the task");
    /* Fewer, larger packets to the host. Not getting it costs speed only. */
    (void)fcntl(*task_end, F_SETPIPE_SZ, TASK_PIPE_BYTES);
    return fd_set_nonblocking(*agent_end, err);
}

static int task_make_pipes(struct task *task, struct task_child *child, struct err *err)
{
    const struct job *job = child->job;
    int status[2], gate[2];

    if (pipe2(status, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    task->status_fd = status[0];
    child->status = status[1];
    if (fd_set_nonblocking(task->status_fd, err) < 0)
        return -1;
    if (pipe2(gate, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    child->gate = gate[0];
    task->gate_fd = gate[1];
    if (task_make_stream(&task->stdout_fd, &child->stdout_fd, false, job, err) < 0 ||
        task_make_stream(&task->stderr_fd, &child->stderr_fd, false, job, err) < 0)
        return -1;
    if (!job->stdin_stream)
        return 0;
    return task_make_stream(&task->stdin_fd, &child->stdin_fd, true, job, err);
}

int task_start(struct task *task, const struct job *job, struct err *err)
{
    struct task_child child = TASK_CHILD_INIT;
    struct clone_args how = {
        .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET,
        .exit_signal = SIGCHLD,
    };
    long pid;

    child.job = job;
    task->cgroup = cgroup_make(job, err);
    if (task->cgroup < 0)
        return -1;
    child.cgroup = task->cgroup;
    if (task_make_pipes(task, &child, err) < 0)
        return -1;
    pid = syscall(SYS_clone3, &how, sizeof(how));
    if (pid == 0)
        task_child_run(&child);
    if (pid < 0)
        return err_sys(err, "cannot start the task's init");
    task->init = (pid_t)pid;
    /* Ends that stay open here would keep the pipes from ending. */
    fd_close(&child.status);
    fd_close(&child.gate);
    fd_close(&child.stdin_fd);
    fd_close(&child.stdout_fd);
    fd_close(&child.stderr_fd);
    return 0;
}

int task_open_gate(struct task *task, struct err *err)
{
    if (fd_write_all(task->gate_fd, "g", 1) < 0)
        return err_sys(err, "cannot start the task");
    fd_close(&task->gate_fd);
    return 0;
}

int task_event_read(struct task *task, struct task_event *event)
{
    ssize_t count;

    do
        count = read(task->status_fd, event, sizeof(*event));
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -1;
    must(count == 0 || count == (ssize_t)sizeof(*event));
    event->text[WIRE_TEXT_BYTES] = '\0';
    return count > 0;
}

void task_reap(struct task *task)
{
    while (waitpid(task->init, NULL, 0) < 0 && errno == EINTR)
        continue;
    task->init = -1;
    fd_close(&task->status_fd);
    fd_close(&task->gate_fd);
}
