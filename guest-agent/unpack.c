/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c: see unpack.h. What the child says is a text, and is treated as one. */
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/fd.h"
#include "cgroup.h"
#include "unpack_child.h"
#include "wire/wire.h"

int unpack_start(struct unpack *unpack, const struct job *job, int fd, struct err *err)
{
    struct clone_args how = {
        .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                 CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
    };
    int feed[2], status[2];

    *unpack = (struct unpack){.feed = -1, .status = -1};
    unpack->cgroup = cgroup_make_unpack(job, err);
    if (unpack->cgroup < 0)
        return -1;
    how.cgroup = (__u64)unpack->cgroup;
    if (pipe2(feed, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    if (pipe2(status, O_CLOEXEC) < 0) {
        fd_close(&feed[0]);
        fd_close(&feed[1]);
        return err_sys(err, "cannot make a pipe");
    }
    unpack->pid = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
    if (unpack->pid == 0)
        unpack_child_run(job, feed[0], status[1], fd);
    unpack->feed = feed[1];
    unpack->status = status[0];
    fd_close(&feed[0]);
    fd_close(&status[1]);
    return unpack->pid < 0 ? err_sys(err, "cannot start a process") : 0;
}

int unpack_feed(struct unpack *unpack, const void *bytes, size_t size, struct err *err)
{
    if (unpack->full || fd_write_all(unpack->feed, bytes, size) == 0)
        return 0;
    if (errno != EPIPE)
        return err_sys(err, "cannot hand over the archive");
    unpack->full = true;
    return 0;
}

int unpack_finish(struct unpack *unpack, struct err *err)
{
    char text[WIRE_TEXT_BYTES + 1] = "";
    ssize_t count;
    int status = 0;
    bool starved;

    fd_close(&unpack->feed);
    count = fd_read_all(unpack->status, text, WIRE_TEXT_BYTES);
    fd_close(&unpack->status);
    while (waitpid(unpack->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    starved = cgroup_end_unpack(&unpack->cgroup);
    if (count > 0)
        return err_set(err, "%.*s", WIRE_TEXT_BYTES, text);
    if (starved)
        return err_set(err, "unpacking took more than [limits] memory");
    if (WIFSIGNALED(status))
        return err_set(err, "unpacking ended by signal %d", WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, "unpacking ended without a word");
    return 0;
}

void unpack_stop(struct unpack *unpack)
{
    fd_close(&unpack->feed);
    fd_close(&unpack->status);
    if (unpack->pid > 0) {
        (void)kill(unpack->pid, SIGKILL);
        while (waitpid(unpack->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    (void)cgroup_end_unpack(&unpack->cgroup);
    unpack->pid = 0;
}
