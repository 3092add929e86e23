/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: see live.h. */
#include "supervisor/live.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"

enum { CHUNK_BYTES = 64 << 10 };

/* The reader went away: head(1) does that, and a terminal that hangs up. */
static bool is_farewell(const struct live *live, int errnum)
{
    return errnum == EPIPE || errnum == ECONNRESET || (errnum == EIO && live->is_terminal);
}

/* Nothing more is shown, because of ERRNUM; the logs still get everything. */
static void live_give_up(struct live *live, int errnum)
{
    live->gone = true;
    if (!is_farewell(live, errnum))
        live->write_errnum = errnum;
    live->spool_start = live->spool_end;
    loop_remove(live->loop, &live->out);
}

/* What the reader takes now, 0 to SIZE. */
static size_t live_write(struct live *live, const uint8_t *bytes, size_t size)
{
    size_t done = 0;

    if (live->progress && live->is_terminal && size > 0)
        progress_hide(live->progress);
    while (done < size && !live->gone) {
        ssize_t count = sink_write(&live->sink, bytes + done, size - done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            break;
        if (count < 0)
            live_give_up(live, errno);
        else
            done += (size_t)count;
    }
    if (done > 0)
        live->progress_ns = clock_mono_ns();
    if (live->progress && live->is_terminal && done > 0)
        progress_wrote(live->progress, bytes[done - 1] == '\n');
    return done;
}

static void live_spool(struct live *live, const uint8_t *bytes, size_t size)
{
    struct err err = ERR_INIT;

    if (live->gone || size == 0)
        return;
    if (live->spool_fd < 0 || !range_within(live->spool_end, size, live->spool_limit) ||
        fd_pwrite_all(live->spool_fd, bytes, size, live->spool_end) < 0) {
        live->dropped_bytes += size;
        return;
    }
    live->spool_end += size;
    if (live->out.fd < 0 && loop_add(live->loop, &live->out, live->sink.fd, EPOLLOUT, &err) < 0)
        live_give_up(live, err.errnum);
}

static void live_out_ready(void *context, uint32_t events)
{
    struct live *live = context;
    uint8_t chunk[CHUNK_BYTES];
    size_t want = (size_t)u64_min(live->spool_end - live->spool_start, sizeof(chunk));
    ssize_t count = fd_pread_all(live->spool_fd, chunk, want, live->spool_start);

    (void)events;
    if (count <= 0) {
        live->dropped_bytes += live->spool_end - live->spool_start;
        live->spool_start = live->spool_end;
    } else {
        live->spool_start += live_write(live, chunk, (size_t)count);
    }
    if (live->spool_start < live->spool_end)
        return;
    loop_remove(live->loop, &live->out);
    /* Empty: the file begins anew, so that a slow reader does not make it grow for ever. */
    if (live->spool_end > 0 && ftruncate(live->spool_fd, 0) == 0)
        live->spool_start = live->spool_end = 0;
    live->changed(live->context);
}

static void live_push(struct live *live, const uint8_t *bytes, size_t size)
{
    size_t done = live_drained(live) ? live_write(live, bytes, size) : 0;

    live_spool(live, bytes + done, size - done);
}

void live_push_line(struct live *live, const uint8_t *line, size_t size, bool ours)
{
    uint64_t dropped = live->dropped_bytes;
    size_t done;

    if (live->gone || !live->loop)
        return;
    if (!ours && !range_within(live->spool_end, size, live->spool_limit)) {
        live->dropped_lines++;
        return;
    }
    if (ours) /* bounded: a run has few of them */
        live->spool_limit += size;
    done = live_drained(live) ? live_write(live, line, size) : 0;
    live_spool(live, line + done, size - done);
    if (live->dropped_bytes == dropped)
        return;
    live->dropped_lines++;
    if (done > 0)
        live_give_up(live, 0); /* half a line is out, and what follows would be joined to it */
}

static void live_take(struct live *live, const uint8_t *bytes, size_t size)
{
    uint8_t shown[ESCAPE_FACTOR * (CHUNK_BYTES + ESCAPE_CARRY_MAX)];

    if (live->divert)
        live->divert(live->divert_context, bytes, size);
    else if (live->is_terminal)
        live_push(live, shown,
            size > 0 ? escape_put(&live->escape, bytes, size, shown)
                     : escape_flush(&live->escape, shown));
    else
        live_push(live, bytes, size);
}

static void live_in_ready(void *context, uint32_t events)
{
    struct live *live = context;
    uint8_t chunk[CHUNK_BYTES];
    ssize_t count = read(live->in_fd, chunk, sizeof(chunk));

    (void)events;
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count > 0) {
        live_take(live, chunk, (size_t)count);
        return;
    }
    live_take(live, chunk, 0);
    live_end_input(live);
    live->changed(live->context);
}

void live_end_input(struct live *live)
{
    loop_remove(live->loop, &live->in);
    fd_close(&live->in_fd);
}

int live_start(struct live *live, struct loop *loop, int in_fd, struct sink sink, int spool_fd,
    uint64_t limit_bytes, struct err *err)
{
    live->loop = loop;
    live->in_fd = in_fd;
    live->sink = sink;
    live->gone = sink.fd < 0;
    live->is_terminal = sink.pollable && isatty(sink.fd);
    live->spool_fd = spool_fd;
    live->spool_limit = limit_bytes;
    live->in.ready = live_in_ready;
    live->in.context = live;
    live->out.ready = live_out_ready;
    live->out.context = live;
    live->progress_ns = clock_mono_ns();
    if (fd_set_nonblocking(in_fd, err) < 0)
        return -1;
    return loop_add(loop, &live->in, in_fd, EPOLLIN, err);
}

void live_stop(struct live *live)
{
    if (!live->loop)
        return;
    loop_remove(live->loop, &live->in);
    loop_remove(live->loop, &live->out);
    fd_close(&live->in_fd);
    fd_close(&live->spool_fd);
    sink_close(&live->sink);
}

bool live_input_ended(const struct live *live)
{
    return live->in_fd < 0;
}

bool live_drained(const struct live *live)
{
    return live->gone || live->spool_start == live->spool_end;
}
