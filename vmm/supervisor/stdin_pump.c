/* SPDX-License-Identifier: Apache-2.0 */
/* stdin_pump.c: see stdin_pump.h. */
#include "supervisor/stdin_pump.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"

static void pump_wait_for_input(struct stdin_pump *pump);

void stdin_pump_stop(struct stdin_pump *pump)
{
    if (!pump->loop)
        return;
    loop_remove(pump->loop, &pump->in);
    loop_remove(pump->loop, &pump->out);
    fd_close(&pump->out_fd);
    sink_close(&pump->sink);
    pump->loop = NULL;
}

/* The buffer holds something: wait until the pipe takes it. */
static void pump_wait_for_output(struct stdin_pump *pump)
{
    struct err err = ERR_INIT;

    loop_remove(pump->loop, &pump->in);
    if (pump->out.fd < 0 && loop_add(pump->loop, &pump->out, pump->out_fd, EPOLLOUT, &err) < 0)
        stdin_pump_stop(pump);
}

static void pump_out_ready(void *context, uint32_t events)
{
    struct stdin_pump *pump = context;
    ssize_t count = write(pump->out_fd, pump->bytes + pump->start, pump->end - pump->start);

    (void)events;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count < 0) { /* the monitor closed it: nobody will read */
        stdin_pump_stop(pump);
        return;
    }
    pump->start += (size_t)count;
    if (pump->start == pump->end)
        pump_wait_for_input(pump);
}

static void pump_in_ready(void *context, uint32_t events)
{
    struct stdin_pump *pump = context;
    ssize_t count = sink_read(&pump->sink, pump->bytes, sizeof(pump->bytes));

    (void)events;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) { /* end of file; an error reads as one, as it does for cat(1) */
        stdin_pump_stop(pump);
        return;
    }
    pump->start = 0;
    pump->end = (size_t)count;
    pump_wait_for_output(pump);
}

/* The buffer is empty: wait for input. A file is always ready, so the pipe sets the pace. */
static void pump_wait_for_input(struct stdin_pump *pump)
{
    struct err err = ERR_INIT;

    if (!pump->sink.pollable) {
        pump_in_ready(pump, 0);
        return;
    }
    loop_remove(pump->loop, &pump->out);
    if (loop_add(pump->loop, &pump->in, pump->sink.fd, EPOLLIN, &err) < 0)
        stdin_pump_stop(pump);
}

int stdin_pump_start(
    struct stdin_pump *pump, struct loop *loop, struct sink sink, int out_fd, struct err *err)
{
    pump->loop = loop;
    pump->sink = sink;
    pump->out_fd = out_fd;
    pump->in = (struct loop_source){.fd = -1, .ready = pump_in_ready, .context = pump};
    pump->out = (struct loop_source){.fd = -1, .ready = pump_out_ready, .context = pump};
    pump->start = pump->end = 0;
    if (fd_set_nonblocking(out_fd, err) < 0)
        return -1;
    pump_wait_for_input(pump);
    return 0;
}
