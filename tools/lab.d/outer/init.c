/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the lab's outer machine: opens the channel to the host, takes the job from it, builds
 * the machine around the command, starts it, and carries its output, its exit status and a
 * heartbeat back. One thread, one poll loop. Frames come from the lab's own host side; the
 * command's bytes are opaque.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "outer.h"

enum { PORT_WAIT_MS = 5000 };

static int channel = -1;

__attribute__((noreturn)) static void machine_stop(void)
{
    /*
     * The host side ends QEMU when it has read the last frame, however long its reader takes.
     * Before there is a channel, the end of PID 1 makes the kernel panic, which the host side sees
     * as well.
     */
    while (channel >= 0)
        pause();
    _exit(1);
}

static void channel_write(const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(channel, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            machine_stop();
        bytes += n;
        length -= (size_t)n;
    }
}

static void channel_read(void *to, size_t length)
{
    uint8_t *at = to;
    while (length > 0) {
        const ssize_t n = read(channel, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            machine_stop();
        at += n;
        length -= (size_t)n;
    }
}

void channel_send(enum frame_type type, const void *bytes, size_t length)
{
    uint8_t frame[FRAME_HEADER_BYTES + 1024];
    if (length > sizeof(frame) - FRAME_HEADER_BYTES)
        length = sizeof(frame) - FRAME_HEADER_BYTES;
    frame_header_store(frame, type, length);
    if (length > 0)
        memcpy(frame + FRAME_HEADER_BYTES, bytes, length);
    channel_write(frame, FRAME_HEADER_BYTES + length);
}

void lab_fail(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    dprintf(STDERR_FILENO, "lab init: %s\n", text);
    if (channel >= 0)
        channel_send(FRAME_FAILED, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
    machine_stop();
}

/* The port appears a moment after its driver is loaded: the host announces it by a message. */
static void channel_open(void)
{
    for (int waited = 0; waited < PORT_WAIT_MS; waited++) {
        channel = open("/dev/vport0p1", O_RDWR | O_CLOEXEC);
        if (channel >= 0)
            return;
        usleep(1000);
    }
    lab_fail("the virtio-serial port did not appear: %s", strerror(errno));
}

static void job_receive(struct job *job)
{
    uint8_t header[FRAME_HEADER_BYTES];
    channel_read(header, sizeof(header));
    const size_t length = frame_header_length(header);
    if (header[0] != FRAME_JOB || length > JOB_BYTES_MAX)
        lab_fail("the first frame is not a job (type %d, %zu bytes)", header[0], length);
    char *bytes = malloc(length + 1);
    if (!bytes)
        lab_fail("no memory for the job");
    channel_read(bytes, length);
    job_parse(job, bytes, length);
}

/*
 * A machine that was saved and is started again has the clock and the random state of then, the
 * same in every run: both come from the host before the first process is started.
 */
static void now_receive(void)
{
    uint8_t frame[FRAME_HEADER_BYTES + NOW_BYTES];
    channel_send(FRAME_ASK, NULL, 0);
    channel_read(frame, sizeof(frame));
    if (frame[0] != FRAME_NOW || frame_header_length(frame) != NOW_BYTES)
        lab_fail("no time from the host (a frame of type %d)", frame[0]);
    uint64_t ns = 0;
    for (int i = 7; i >= 0; i--)
        ns = ns << 8 | frame[FRAME_HEADER_BYTES + i];
    const struct timespec now = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    if (clock_settime(CLOCK_REALTIME, &now) < 0)
        lab_fail("set the clock: %s", strerror(errno));

    /* struct rand_pool_info: bits of entropy, bytes, then the bytes (linux/random.h). */
    uint32_t pool[2 + SEED_BYTES / sizeof(uint32_t)] = {SEED_BYTES * 8, SEED_BYTES};
    memcpy(pool + 2, frame + FRAME_HEADER_BYTES + 8, SEED_BYTES);
    const int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, RNDADDENTROPY, pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
        lab_fail("seed the random state: %s", strerror(errno));
    close(fd);
}

/* Carries at most `limit` bytes from a pipe of the command to the host. False at the pipe's end. */
static bool output_carry(int fd, enum frame_type type, size_t limit)
{
    static uint8_t frame[FRAME_PAYLOAD_BYTES];
    const size_t room = sizeof(frame) - FRAME_HEADER_BYTES;
    const ssize_t n = read(fd, frame + FRAME_HEADER_BYTES, limit < room ? limit : room);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    frame_header_store(frame, type, (size_t)n);
    channel_write(frame, FRAME_HEADER_BYTES + (size_t)n);
    return true;
}

/*
 * What is in the pipe when the command has ended. A process it left behind may hold the other end
 * and write for ever, so this takes what is there now and no more.
 */
static void output_drain(int fd, enum frame_type type)
{
    int left = 0;
    if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0)
        return;
    const int step = FRAME_PAYLOAD_BYTES - FRAME_HEADER_BYTES;
    for (; left > 0; left -= step)
        output_carry(fd, type, (size_t)left);
}

static void tree_sync(const struct job *job)
{
    const int fd = open(job->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) < 0)
        lab_fail("write the working tree back to the host: %s", strerror(errno));
    close(fd);
}

static void beat_send(void)
{
    char text[128] = "";
    const int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    channel_send(FRAME_BEAT, text, strcspn(text, "\n"));
}

/* The frame of stdin that the command's pipe has not taken yet; the host sends one per FRAME_WANT.
 */
struct feed {
    uint8_t bytes[FRAME_PAYLOAD_BYTES];
    size_t at;
    size_t length;
};

static void feed_push(struct feed *feed, struct command *command)
{
    const ssize_t n = write(command->in, feed->bytes + feed->at, feed->length - feed->at);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        close(command->in); /* the command closed its stdin: what is left has no reader */
        command->in = -1;
        feed->at = feed->length = 0;
        return;
    }
    feed->at += n < 0 ? 0 : (size_t)n;
    if (feed->at == feed->length) {
        feed->at = feed->length = 0;
        channel_send(FRAME_WANT, NULL, 0);
    }
}

/* One frame from the host while the command runs. */
static void frame_take(const struct job *job, struct command *command, struct feed *feed)
{
    uint8_t header[FRAME_HEADER_BYTES];
    channel_read(header, sizeof(header));
    const size_t length = frame_header_length(header);
    if (header[0] == FRAME_QUERY && length == 0) {
        report_send();
        tree_sync(job);
        channel_send(FRAME_REPORT, NULL, 0);
        return;
    }
    if (header[0] != FRAME_STDIN || length > sizeof(feed->bytes) || feed->length > 0)
        lab_fail("a frame of type %d, %zu bytes", header[0], length);
    channel_read(feed->bytes, length);
    if (command->in < 0)
        return;
    feed->length = length;
    if (length > 0) {
        feed_push(feed, command);
    } else {
        close(command->in);
        command->in = -1;
    }
}

/* Reaps everything; the exit status, as a shell gives it, when the command itself has ended, or -1.
 */
static int children_reap(pid_t command)
{
    int result = -1;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == command)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

enum { ON_SIGNAL, ON_TIMER, ON_CHANNEL, ON_OUT, ON_ERR, ON_IN, SOURCES };

static int command_carry(const struct job *job, struct command *command, int signals, int timer)
{
    static struct feed feed;
    if (command->in >= 0)
        channel_send(FRAME_WANT, NULL, 0);
    for (;;) {
        struct pollfd on[SOURCES] = {
            [ON_SIGNAL] = {signals, POLLIN, 0},
            [ON_TIMER] = {timer, POLLIN, 0},
            [ON_CHANNEL] = {channel, POLLIN, 0},
            [ON_OUT] = {command->out, POLLIN, 0},
            [ON_ERR] = {command->err, POLLIN, 0},
            [ON_IN] = {feed.length > 0 ? command->in : -1, POLLOUT, 0},
        };
        if (poll(on, SOURCES, -1) < 0)
            continue;
        if (on[ON_OUT].revents && !output_carry(command->out, FRAME_OUT, SIZE_MAX))
            command->out = -1;
        if (on[ON_ERR].revents && !output_carry(command->err, FRAME_ERR, SIZE_MAX))
            command->err = -1;
        if (on[ON_IN].revents)
            feed_push(&feed, command);
        if (on[ON_CHANNEL].revents & POLLIN)
            frame_take(job, command, &feed);
        uint64_t ticks;
        if (on[ON_TIMER].revents && read(timer, &ticks, sizeof(ticks)) > 0)
            beat_send();
        struct signalfd_siginfo info;
        if (on[ON_SIGNAL].revents && read(signals, &info, sizeof(info)) > 0) {
            const int status = children_reap(command->pid);
            if (status >= 0)
                return status;
        }
    }
}

int main(void)
{
    boot_devices();
    channel_open();
    channel_send(FRAME_READY, NULL, 0);
    struct job job;
    job_receive(&job);
    now_receive();
    boot_root(&job);
    cgroup_make(&job);
    if (job.user)
        user_make();

    signal(SIGPIPE, SIG_IGN);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    const int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    const struct itimerspec second = {.it_interval = {1, 0}, .it_value = {1, 0}};
    if (signals < 0 || timer < 0 || timerfd_settime(timer, 0, &second, NULL) < 0)
        lab_fail("signalfd, timerfd: %s", strerror(errno));
    /* The heartbeat must get through when the command keeps the processor busy. */
    setpriority(PRIO_PROCESS, 0, -20);

    struct command command;
    command_start(&command, &job);
    channel_send(FRAME_STARTED, NULL, 0);
    const uint8_t status = (uint8_t)command_carry(&job, &command, signals, timer);
    output_drain(command.out, FRAME_OUT);
    output_drain(command.err, FRAME_ERR);
    tree_sync(&job);
    channel_send(FRAME_EXIT, &status, 1);
    machine_stop();
}
