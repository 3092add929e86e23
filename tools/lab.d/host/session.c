/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of an outer machine: a poll loop over the channel, the outer console and stdin, until one
 * of the endings in host.h. Frames come from the outer machine: their sizes are checked, the
 * command's bytes are opaque and go to the caller as they are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

enum {
    ANSWER_WAIT_MS = 4000,
    MONITOR_WAIT_MS = 1500,
    /* From ready to saved: the outer kernel's late work (clock calibration takes a second) is done.
     */
    SETTLE_MS = 2500,
};

uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void session_end(struct session *session, enum ending ending, int status)
{
    if (session->ending != ENDING_NONE)
        return;
    session->ending = ending;
    session->status = status;
}

static void output_give(struct session *session, int fd, const uint8_t *bytes, size_t length)
{
    const int why = stream_write(session, fd, bytes, length);
    /* The time a slow reader took is not the outer machine's silence. */
    session->heard_ms = now_ms();
    if (why != 0 && why != EINTR) /* EINTR: the loop sees the stop or the limit next */
        session_end(session, ENDING_OUTPUT, why);
}

static void frame_take(struct session *session, const uint8_t *payload, size_t length)
{
    switch (session->frame[0]) {
    case FRAME_READY:
        session->ready_ms = now_ms();
        break;
    case FRAME_ASK:
        send_now(session);
        break;
    case FRAME_STARTED:
        session->started = true;
        break;
    case FRAME_OUT:
        output_give(session, STDOUT_FILENO, payload, length);
        break;
    case FRAME_ERR:
        output_give(session, STDERR_FILENO, payload, length);
        break;
    case FRAME_WANT:
        session->stdin_wanted = true;
        break;
    case FRAME_BEAT:
        snprintf(session->beat, sizeof(session->beat), "%.*s", (int)length, (const char *)payload);
        break;
    case FRAME_REPORT:
        tail_add(&session->report, payload, length);
        session->answered = length == 0;
        break;
    case FRAME_FAILED:
        tail_add(&session->report, payload, length);
        session_end(session, ENDING_FAILED, 0);
        break;
    case FRAME_EXIT:
        session_end(session, ENDING_EXIT, length == 1 ? payload[0] : STATUS_OUTER);
        break;
    default:
        tail_add(&session->report, "unknown frame", 13);
        session_end(session, ENDING_FAILED, 0);
    }
}

/* Reads what completes the frame at hand, no more, so that frames are handled one at a time. */
static void channel_take(struct session *session)
{
    size_t wanted = FRAME_HEADER_BYTES;
    if (session->frame_length >= FRAME_HEADER_BYTES)
        wanted += frame_header_length(session->frame);
    if (wanted > sizeof(session->frame)) {
        tail_add(&session->report, "frame too long", 14);
        session_end(session, ENDING_FAILED, 0);
        return;
    }
    const ssize_t n = read(
        session->channel, session->frame + session->frame_length, wanted - session->frame_length);
    if (n == 0)
        session_end(session, ENDING_QEMU, 0);
    if (n <= 0)
        return;
    session->heard_ms = now_ms();
    session->frame_length += (size_t)n;
    if (session->frame_length < FRAME_HEADER_BYTES)
        return;
    const size_t length = frame_header_length(session->frame);
    if (session->frame_length == FRAME_HEADER_BYTES + length) {
        session->frame_length = 0;
        frame_take(session, session->frame + FRAME_HEADER_BYTES, length);
    }
}

static void console_take(struct session *session)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(session->console, bytes, sizeof(bytes))) > 0) {
        tail_add(&session->tail, bytes, (size_t)n);
        if (session->options->console)
            stream_write(session, STDERR_FILENO, bytes, (size_t)n);
        if (session->log >= 0)
            stream_write(session, session->log, bytes, (size_t)n);
    }
    if (n == 0) {
        /* QEMU is gone; what it left in the channel still counts, and the channel's end ends the
         * run. */
        close(session->console);
        session->console = -1;
    }
}

static void monitor_take(struct session *session)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(session->monitor, bytes, sizeof(bytes))) > 0)
        if (session->options->save || session->stalled_ms) /* else it is QEMU's greeting */
            tail_add(&session->report, bytes, (size_t)n);
    if (n == 0) {
        close(session->monitor);
        session->monitor = -1;
    }
}

/* Has QEMU write the machine to a file and quit. The answers end up in session->report. */
static void save_order(struct session *session)
{
    const int n = dprintf(session->monitor,
        "migrate_set_parameter max-bandwidth 10G\n"
        "migrate \"exec:cat >%s\"\n"
        "info migrate\n"
        "quit\n",
        session->options->save);
    session->asked_ms = now_ms();
    if (n < 0)
        session_end(session, ENDING_FAILED, 0);
}

/* What the silent machine does: what its processor executes, and what interrupts wait. */
static void stall_order(struct session *session)
{
    session->stalled_ms = now_ms();
    if (dprintf(session->monitor, "info status\ninfo lapic\ninfo registers\n") < 0)
        session_end(session, ENDING_SILENT, 0);
}

static void stdin_take(struct session *session)
{
    uint8_t bytes[FRAME_PAYLOAD_BYTES];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    session->stdin_wanted = false;
    send_frame(session, FRAME_STDIN, bytes, n < 0 ? 0 : (size_t)n);
}

/*
 * The limits. A time limit first asks the outer machine what it is doing, as that is what a person
 * needs to know; the answer also means that the tree is written back.
 */
static void clock_check(struct session *session)
{
    const struct options *options = session->options;
    const uint64_t now = now_ms();
    if (stop_signal) {
        session_end(session, ENDING_SIGNAL, stop_signal);
    } else if (options->save && session->ready_ms) {
        if (!session->asked_ms && now - session->ready_ms > SETTLE_MS)
            save_order(session);
        else if (now - session->ready_ms > (uint64_t)options->silence_s * 1000)
            session_end(session, ENDING_SILENT, 0);
    } else if (session->asked_ms) {
        if (session->answered || now - session->asked_ms > ANSWER_WAIT_MS)
            session_end(session, ENDING_TIMEOUT, 0);
    } else if (now - session->start_ms > (uint64_t)options->timeout_s * 1000) {
        session->asked_ms = now;
        if (session->started)
            send_frame(session, FRAME_QUERY, NULL, 0);
        else
            session_end(session, ENDING_TIMEOUT, 0);
    } else if (session->stalled_ms) {
        if (now - session->stalled_ms > MONITOR_WAIT_MS)
            session_end(session, ENDING_SILENT, 0);
    } else if (now - session->heard_ms > (uint64_t)options->silence_s * 1000) {
        stall_order(session);
    }
}

enum { ON_CHANNEL, ON_CONSOLE, ON_MONITOR, ON_STDIN, SOURCES };

static void session_loop(struct session *session)
{
    while (session->ending == ENDING_NONE) {
        const short sending = session->send_at < session->send_length ? POLLOUT : 0;
        struct pollfd on[SOURCES] = {
            [ON_CHANNEL] = {session->channel, (short)(POLLIN | sending), 0},
            [ON_CONSOLE] = {session->console, POLLIN, 0},
            [ON_MONITOR] = {session->monitor, POLLIN, 0},
            [ON_STDIN] = {session->stdin_wanted ? STDIN_FILENO : -1, POLLIN, 0},
        };
        /* One second: the grain of the limits, and the most a missed signal costs. */
        if (poll(on, SOURCES, 1000) > 0) {
            if (on[ON_CONSOLE].revents)
                console_take(session);
            if (on[ON_MONITOR].revents)
                monitor_take(session);
            if (on[ON_CHANNEL].revents & POLLOUT)
                send_some(session);
            if (on[ON_CHANNEL].revents & (POLLIN | POLLHUP))
                channel_take(session);
            if (on[ON_STDIN].revents)
                stdin_take(session);
        }
        clock_check(session);
    }
    if (session->console >= 0)
        console_take(session);
    if (session->monitor >= 0)
        monitor_take(session);
}

int session_run(struct session *session, const struct options *options, char **qemu)
{
    *session = (struct session){
        .options = options, .channel = -1, .console = -1, .monitor = -1, .log = -1};
    session->start_ms = session->heard_ms = now_ms();
    if (options->log) {
        session->log = open(options->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (session->log < 0) {
            fprintf(stderr, "lab: open %s: %s\n", options->log, strerror(errno));
            return -1;
        }
    }
    if (qemu_start(session, qemu) < 0)
        return -1;
    if (!options->save)
        send_job(session);
    session_loop(session);
    return 0;
}
