/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_host.c: stands in for dial.c where there is no vsock, so that the whole agent can be run in
 * a plain QEMU. The host is then a process beside the agent, at the other end of socket pairs: it
 * takes its script from /dev/vde, writes all that it hears to /dev/vdf, and resets the machine
 * after the agent's last message. Driven by in_qemu.py, which knows both formats:
 *
 *     script   u32 job bytes, u32 stdin bytes, u32 cancel after ms (0: never), u32 zero, job, stdin
 *     record   u32 stream (enum fake_stream), u32 length, bytes; length 0: end of that stream
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../guest-agent/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "wire/wire.h"

enum { FAKE_STREAMS = 4, FAKE_SCRIPT_BYTES = 16, FAKE_CHUNK_BYTES = 64 << 10 };

enum fake_stream { FAKE_CONTROL, FAKE_STDOUT, FAKE_STDERR, FAKE_STDIN };

struct fake_host {
    int fds[FAKE_STREAMS];
    int record;
    uint8_t *job;
    size_t job_bytes;
    uint8_t *input;
    size_t input_bytes;
    size_t input_sent;
    uint32_t cancel_ms;
    uint64_t cancel_ns;
    bool last_heard;
};

static _Noreturn void fake_die(const char *what)
{
    fprintf(stderr, "fake host: %s: %s\n", what, strerror(errno));
    reboot(RB_AUTOBOOT);
    _exit(1);
}

/* /dev is mounted by the agent, after its HELLO. */
static int fake_open_disk(const char *path, int flags)
{
    for (int i = 0; i < 5000; i++) {
        int fd = open(path, flags | O_CLOEXEC);

        if (fd >= 0)
            return fd;
        usleep(1000);
    }
    fake_die(path);
}

static void fake_read_script(struct fake_host *host)
{
    AUTO_FD int fd = fake_open_disk("/dev/vde", O_RDONLY);
    uint8_t head[FAKE_SCRIPT_BYTES];

    if (fd_read_all(fd, head, sizeof(head)) != (ssize_t)sizeof(head))
        fake_die("script");
    host->job_bytes = le32_load(head);
    host->input_bytes = le32_load(head + 4);
    host->cancel_ms = le32_load(head + 8);
    host->job = malloc(host->job_bytes + WIRE_HEADER_BYTES);
    host->input = malloc(host->input_bytes + 1);
    if (!host->job || !host->input)
        fake_die("malloc");
    wire_put_header(host->job, WIRE_HEADER_BYTES, WIRE_JOB, (uint32_t)host->job_bytes);
    if (fd_read_all(fd, host->job + WIRE_HEADER_BYTES, host->job_bytes) !=
            (ssize_t)host->job_bytes ||
        fd_read_all(fd, host->input, host->input_bytes) != (ssize_t)host->input_bytes)
        fake_die("script");
}

static void fake_record(
    struct fake_host *host, enum fake_stream stream, const uint8_t *bytes, size_t size)
{
    uint8_t head[8];

    le32_store(head, (uint32_t)stream);
    le32_store(head + 4, (uint32_t)size);
    if (fd_write_all(host->record, head, sizeof(head)) < 0 ||
        fd_write_all(host->record, bytes, size) < 0)
        fake_die("record");
}

static _Noreturn void fake_end(struct fake_host *host)
{
    fsync(host->record);
    reboot(RB_AUTOBOOT);
    _exit(0);
}

static void fake_hear_control(struct fake_host *host)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct wire_header header;
    struct err err = ERR_INIT;

    if (fd_read_all(host->fds[FAKE_CONTROL], message, WIRE_HEADER_BYTES) != WIRE_HEADER_BYTES)
        fake_die("control ended");
    if (wire_get_header(message, WIRE_GUEST_PAYLOAD_MAX, &header, &err) < 0)
        fake_die(err.text);
    if (fd_read_all(host->fds[FAKE_CONTROL], message + WIRE_HEADER_BYTES, header.length) !=
        (ssize_t)header.length)
        fake_die("control ended in a message");
    if (host->record < 0) { /* HELLO: only now there is a disk */
        fake_read_script(host);
        host->record = fake_open_disk("/dev/vdf", O_WRONLY);
        if (fd_write_all(host->fds[FAKE_CONTROL], host->job, host->job_bytes + WIRE_HEADER_BYTES) <
            0)
            fake_die("job");
    }
    fake_record(host, FAKE_CONTROL, message, header.length + WIRE_HEADER_BYTES);
    if (header.type == WIRE_STARTED && host->cancel_ms)
        host->cancel_ns = clock_mono_ns() + host->cancel_ms * NS_PER_MS;
    host->last_heard = header.type == WIRE_EXPORTED;
    if (header.type == WIRE_FATAL) /* the streams may stay open */
        fake_end(host);
}

static void fake_hear_output(struct fake_host *host, enum fake_stream stream)
{
    static uint8_t bytes[FAKE_CHUNK_BYTES];
    ssize_t count = read(host->fds[stream], bytes, sizeof(bytes));

    if (count < 0)
        fake_die("output");
    fake_record(host, stream, bytes, (size_t)count);
    if (count == 0)
        fd_close(&host->fds[stream]);
}

static void fake_feed_input(struct fake_host *host)
{
    size_t left = host->input_bytes - host->input_sent;
    ssize_t count = send(
        host->fds[FAKE_STDIN], host->input + host->input_sent, left, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (count < 0 && errno != EAGAIN)
        fake_die("input");
    if (count > 0)
        host->input_sent += (size_t)count;
    if (host->input_sent == host->input_bytes)
        fd_close(&host->fds[FAKE_STDIN]);
}

static void fake_cancel(struct fake_host *host)
{
    uint8_t message[WIRE_HEADER_BYTES];

    wire_put_header(message, sizeof(message), WIRE_CANCEL, 0);
    if (fd_write_all(host->fds[FAKE_CONTROL], message, sizeof(message)) < 0)
        fake_die("cancel");
    host->cancel_ns = 0;
}

static _Noreturn void fake_run(struct fake_host *host)
{
    while (!host->last_heard || host->fds[FAKE_STDOUT] >= 0 || host->fds[FAKE_STDERR] >= 0) {
        struct pollfd polls[FAKE_STREAMS];
        uint64_t now = clock_mono_ns();

        if (host->cancel_ns && now >= host->cancel_ns)
            fake_cancel(host);
        for (int i = 0; i < FAKE_STREAMS; i++)
            polls[i] = (struct pollfd){.fd = host->fds[i], .events = POLLIN};
        polls[FAKE_STDIN].events = host->record >= 0 ? POLLOUT : 0;
        if (poll(polls, FAKE_STREAMS, host->cancel_ns ? 10 : -1) < 0)
            fake_die("poll");
        if (polls[FAKE_STDOUT].revents)
            fake_hear_output(host, FAKE_STDOUT);
        if (polls[FAKE_STDERR].revents)
            fake_hear_output(host, FAKE_STDERR);
        if (polls[FAKE_STDIN].revents & POLLOUT)
            fake_feed_input(host);
        if (polls[FAKE_CONTROL].revents)
            fake_hear_control(host);
    }
    fake_end(host);
}

int channel_open(struct channel *channel, struct err *err)
{
    int *const ends[FAKE_STREAMS] = {
        &channel->control, &channel->stdout_fd, &channel->stderr_fd, &channel->stdin_fd};
    struct fake_host host = {.record = -1};
    pid_t pid;

    for (int i = 0; i < FAKE_STREAMS; i++) {
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            return err_sys(err, "cannot make a socket pair");
        host.fds[i] = pair[0];
        *ends[i] = pair[1];
        if (fd_set_nonblocking(pair[1], err) < 0)
            return -1;
    }
    pid = fork();
    if (pid < 0)
        return err_sys(err, "cannot start the fake host");
    for (int i = 0; i < FAKE_STREAMS; i++) {
        if (pid == 0)
            fd_close(ends[i]);
        else
            fd_close(&host.fds[i]);
    }
    if (pid == 0)
        fake_run(&host);
    return 0;
}
