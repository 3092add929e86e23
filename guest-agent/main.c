/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the guest agent, PID 1 of a machine that lives for one task. It greets the host, takes a
 * job, makes the task's world, runs the task, and hands its artifacts over; wire.h has the
 * messages. What the task does reaches it as bytes in pipes, exit statuses and, at the end, a file
 * tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "channel.h"
#include "export.h"
#include "guest.h"
#include "import.h"
#include "job_read.h"
#include "places.h"
#include "session.h"
#include "stop.h"
#include "wire/wire.h"

/* Both as large as a job may be, and only as present as it is. */
static uint8_t job_bytes[WIRE_JOB_MAX_BYTES];
static struct job job;

static int agent_greet(const struct channel *channel, uint64_t started_ns, struct err *err)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct wire_hello hello = {0};

    guest_describe(&hello, started_ns);
    return channel_send(channel, message, wire_put_hello(message, sizeof(message), &hello), err);
}

static int agent_import(int task_fd, struct err *err)
{
    AUTO_FD int disk = open(WIRE_DISK_IMPORT, O_RDONLY | O_CLOEXEC);

    if (disk < 0)
        return err_sys(err, "cannot open the import disk %s", WIRE_DISK_IMPORT);
    return import_unpack(disk, task_fd, &job, err);
}

static int agent_export(const struct channel *channel, int task_fd, struct err *err)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct wire_exported exported = {0};
    uint64_t started_ns = clock_mono_ns();
    /* Direct: large blocks gain nothing from being copied to the page cache first. */
    AUTO_FD int disk = open(WIRE_DISK_EXPORT, O_WRONLY | O_DIRECT | O_CLOEXEC);
    uint64_t disk_bytes;

    if (disk < 0)
        return err_sys(err, "cannot open the export disk %s", WIRE_DISK_EXPORT);
    if (fd_size(disk, &disk_bytes, err) < 0)
        return -1;
    export_run(
        task_fd, job.collects, job.collect_count, &job.export_caps, disk, disk_bytes, &exported);
    exported.export_ns = clock_mono_ns() - started_ns;
    return channel_send(
        channel, message, wire_put_exported(message, sizeof(message), &exported), err);
}

static int agent_run_job(const struct channel *channel, uint64_t job_ns, struct err *err)
{
    AUTO_FD int task_fd = open(PLACE_SCRATCH_TASK, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err why = ERR_INIT;

    if (task_fd < 0)
        return err_sys(err, "cannot open the task's folder");
    if (job.import && agent_import(task_fd, &why) < 0) {
        if (session_refuse(channel, &why, err) < 0)
            return -1;
    } else if (session_run(channel, &job, job_ns, err) < 0) {
        return -1;
    }
    return agent_export(channel, task_fd, err);
}

/* The disk that another guest left: nothing is run, what was declared is exported. */
static int agent_salvage(const struct channel *channel, struct err *err)
{
    struct err why = ERR_INIT;
    AUTO_FD int task_fd = -1;

    if (guest_mount_salvage(err) < 0)
        return -1;
    task_fd = open(PLACE_SCRATCH_TASK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (task_fd < 0)
        return err_sys(err, "cannot open the folder that the task had");
    err_set(&why, "this machine runs nothing: it exports what another left");
    if (session_refuse(channel, &why, err) < 0)
        return -1;
    return agent_export(channel, task_fd, err);
}

static int agent_run(struct channel *channel, uint64_t started_ns, struct err *err)
{
    size_t job_size;
    uint64_t job_ns;

    if (channel_open(channel, err) < 0 || agent_greet(channel, started_ns, err) < 0)
        return -1;
    /* While the host sends the job. */
    if (guest_prepare(err) < 0)
        return -1;
    if (channel_receive_job(channel, job_bytes, &job_size, err) < 0)
        return -1;
    job_ns = clock_mono_ns();
    if (job_read(&job, job_bytes, job_size, err) < 0)
        return -1;
    if (job.salvage)
        return agent_salvage(channel, err);
    if (guest_set_clock(job.clock_ns, err) < 0 || guest_mount_scratch(&job, err) < 0)
        return -1;
    return agent_run_job(channel, job_ns, err);
}

int main(void)
{
    uint64_t started_ns = clock_mono_ns();
    struct channel channel = CHANNEL_INIT;
    struct err err = ERR_INIT;

    if (getpid() != 1) {
        fprintf(stderr, "vmrun-agent: runs as PID 1 of a vmrun guest, nowhere else\n");
        return 125;
    }
    signal(SIGPIPE, SIG_IGN);
    umask(022);
    if (agent_run(&channel, started_ns, &err) < 0)
        stop_fatal(&channel, &err);
    stop_wait();
}
