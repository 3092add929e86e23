/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: see stream.h. The pipe is emptied whatever becomes of the log and of the live copy, so
 * that nothing here can block the monitor.
 */
#include "scribe/stream.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"

enum { STREAM_READ_BYTES = 256 * 1024 };

static const char *const stream_names[STREAM_COUNT] = {
    [STREAM_STDOUT] = "stdout", [STREAM_STDERR] = "stderr", [STREAM_CONSOLE] = "console"};

/* Show what can be shown now, and wait for the reader when it is the one to move. */
static void stream_show(struct stream *stream)
{
    struct err err = ERR_INIT;
    enum live_state state = live_pump(&stream->live, &stream->log);

    if (state == LIVE_BLOCKED) {
        if (stream->live_source.fd < 0 &&
            loop_add(stream->loop, &stream->live_source, stream->live.fd, EPOLLOUT, &err) < 0)
            stream->failed(stream->context, &err);
        return;
    }
    loop_remove(stream->loop, &stream->live_source);
    if (state == LIVE_IDLE)
        return;
    fd_close(&stream->live.fd);
    if (stream->log.finished && !stream->is_done) {
        stream->is_done = true;
        stream->done(stream->context);
    }
}

static void stream_end(struct stream *stream)
{
    struct ipc_stream_totals totals = {.stream = stream->id};

    loop_remove(stream->loop, &stream->in_source);
    fd_close(&stream->in_fd);
    log_finish(&stream->log, totals.sha256);
    totals.total_bytes = stream->log.total_bytes;
    totals.kept_bytes = log_kept_bytes(&stream->log);
    totals.error = (uint32_t)stream->log.error;
    stream->ended(stream->context, &totals);
    stream_show(stream);
}

/* One read, so that no stream keeps the others waiting. Returns false at the end of the stream. */
static bool stream_read(struct stream *stream)
{
    static uint8_t buffer[STREAM_READ_BYTES];
    ssize_t count = read(stream->in_fd, buffer, sizeof(buffer));

    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (count <= 0) {
        stream_end(stream); /* reading a pipe does not fail otherwise */
        return false;
    }
    log_append(&stream->log, buffer, (size_t)count);
    stream_show(stream);
    return true;
}

static void stream_on_input(void *context, uint32_t events)
{
    (void)events; /* data, end or error: read() tells */
    (void)stream_read(context);
}

static void stream_on_live(void *context, uint32_t events)
{
    (void)events; /* room or a reader that is gone: write() tells */
    stream_show(context);
}

int stream_start(struct stream *stream, struct loop *loop, enum ipc_stream id,
    const struct ipc_scribe *setup, struct err *err)
{
    stream->id = id;
    stream->loop = loop;
    stream->in_fd = SCRIBE_FD_IN + (int)id;
    stream->in_source = (struct loop_source){.fd = -1, .ready = stream_on_input, .context = stream};
    stream->live_source =
        (struct loop_source){.fd = -1, .ready = stream_on_live, .context = stream};
    log_init(&stream->log, SCRIBE_FD_LOG + (int)id, setup->cap_bytes[id]);
    if (live_init(&stream->live, SCRIBE_FD_LIVE + (int)id, stream_names[id], setup->live_form[id],
            err) < 0)
        return err_wrap(err, "stream %s", stream_names[id]);
    if (loop_add(loop, &stream->in_source, stream->in_fd, EPOLLIN, err) == 0)
        return 0;
    if (err->errnum != EPERM)
        return err_wrap(err, "stream %s", stream_names[id]);
    /* A stream that is not used is /dev/null, which epoll does not take and which is at its end. */
    *err = (struct err)ERR_INIT;
    while (stream_read(stream))
        continue;
    return 0;
}
