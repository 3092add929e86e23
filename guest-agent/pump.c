/* SPDX-License-Identifier: Apache-2.0 */
/* pump.c: see pump.h. The bytes are the task's or the host's and mean nothing here. */
#include "pump.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum { PUMP_ROUNDS = 8 }; /* blocks moved before others get their turn */

static void pump_finish(struct pump *pump)
{
    pump->done = true;
    loop_remove(pump->loop, &pump->from);
    loop_remove(pump->loop, &pump->to);
    if (pump->kind == PUMP_OUTPUT) {
        fd_close(&pump->from_fd);
        /* Behind the last byte: the host knows that nothing is missing. */
        (void)shutdown(pump->to_fd, SHUT_WR);
    } else {
        fd_close(&pump->to_fd);
    }
    pump->finished(pump->context);
}

/* Returns false when there is nothing to read now. */
static bool pump_read(struct pump *pump)
{
    ssize_t count = read(pump->from_fd, pump->buffer, sizeof(pump->buffer));

    if (count < 0 && errno == EINTR)
        return true;
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count <= 0) {
        pump->ended = true;
        return true;
    }
    pump->start = 0;
    pump->end = (size_t)count;
    pump->active_ns = clock_mono_ns();
    return true;
}

/* Returns false when nothing can be written now. */
static bool pump_write(struct pump *pump)
{
    ssize_t count;

    if (pump->discarding) {
        pump->start = pump->end;
        return true;
    }
    count = write(pump->to_fd, pump->buffer + pump->start, pump->end - pump->start);
    if (count < 0 && errno == EINTR)
        return true;
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count < 0) {
        pump->discarding = true;
        if (pump->kind == PUMP_INPUT)
            pump->ended = true;
        return true;
    }
    pump->start += (size_t)count;
    return true;
}

/* Events 0 would still report a hang-up, over and over: what is not awaited is not registered. */
static int pump_watch(struct pump *pump, struct loop_source *source, int fd, uint32_t events)
{
    if (!events) {
        loop_remove(pump->loop, source);
        return 0;
    }
    if (source->fd >= 0)
        return 0;
    return loop_add(pump->loop, source, fd, events, pump->err);
}

static void pump_step(void *context, uint32_t events)
{
    struct pump *pump = context;
    bool full;

    (void)events;
    for (int round = 0; round < PUMP_ROUNDS; round++) {
        if (pump->start == pump->end && !pump->ended && !pump_read(pump))
            break;
        if (pump->start < pump->end && !pump_write(pump))
            break;
        if (pump->start == pump->end && pump->ended) {
            pump_finish(pump);
            return;
        }
    }
    full = pump->start < pump->end;
    if (pump_watch(pump, &pump->from, pump->from_fd, full ? 0 : EPOLLIN) < 0 ||
        pump_watch(pump, &pump->to, pump->to_fd, full ? EPOLLOUT : 0) < 0)
        loop_stop(pump->loop);
}

void pump_start(struct pump *pump, struct loop *loop, enum pump_kind kind, int from_fd, int to_fd,
    void (*finished)(void *context), void *context, struct err *err)
{
    pump->loop = loop;
    pump->kind = kind;
    pump->from_fd = from_fd;
    pump->to_fd = to_fd;
    pump->from = (struct loop_source){.fd = -1, .ready = pump_step, .context = pump};
    pump->to = (struct loop_source){.fd = -1, .ready = pump_step, .context = pump};
    pump->start = pump->end = 0;
    pump->ended = pump->discarding = pump->done = false;
    pump->active_ns = 0;
    pump->finished = finished;
    pump->context = context;
    pump->err = err;
    if (pump_watch(pump, &pump->from, from_fd, EPOLLIN) < 0)
        loop_stop(loop);
}
