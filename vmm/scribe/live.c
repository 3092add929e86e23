/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: see live.h. */
#include "scribe/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

int live_init(struct live *live, int fd, const char *name, enum ipc_live form, struct err *err)
{
    struct stat info;

    *live = (struct live){.fd = fd, .name = name, .form = form};
    if (fstat(fd, &info) < 0)
        return err_sys(err, "cannot look at the live fd of %s", name);
    if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) {
        fd_close(&live->fd); /* /dev/null */
        return 0;
    }
    return fd_set_nonblocking(fd, err);
}

/* What waits for the rest of its character comes out as it is. */
static void live_flush(struct live *live)
{
    uint8_t *out = live->out + live->out_bytes;

    live->out_bytes += live->form == LIVE_EVENTS ? event_flush(&live->event, out)
                                                 : escape_flush(&live->escape, out);
}

/* The one line in the stream that is not the task's. */
static void live_put_marker(struct live *live, const struct log *log)
{
    char text[256];
    int length;

    live->marked = true;
    if (live->form == LIVE_EVENTS) {
        live->out_bytes += event_cut(live->out + live->out_bytes);
        return;
    }
    if (log->error != 0)
        length = snprintf(text, sizeof(text),
            "\n[vmrun: the log of %s cannot be written (%s); the rest is not shown]\n", live->name,
            strerror(log->error));
    else
        length = snprintf(text, sizeof(text),
            "\n[vmrun: %s is past its limit of %llu bytes; its end is shown when it has ended]\n",
            live->name, (unsigned long long)log->cap_bytes);
    must(length > 0 && (size_t)length < sizeof(text));
    memcpy(live->out + live->out_bytes, text, (size_t)length);
    live->out_bytes += (size_t)length;
}

static void live_put(struct live *live, const uint8_t *bytes, size_t size)
{
    if (live->form == LIVE_EVENTS) {
        live->out_bytes = event_put(&live->event, bytes, size, live->out);
    } else if (live->form == LIVE_ESCAPED) {
        live->out_bytes = escape_put(&live->escape, bytes, size, live->out);
    } else {
        memcpy(live->out, bytes, size);
        live->out_bytes = size;
    }
}

/*
 * Fill OUT, which is empty, with what comes next. Returns false when there is nothing now; true
 * with OUT still empty when all that was read begins a character.
 */
static bool live_fill(struct live *live, struct log *log)
{
    uint8_t chunk[LIVE_CHUNK_BYTES];
    size_t most = live->form == LIVE_EVENTS ? EVENT_CHUNK_BYTES : sizeof(chunk);
    bool at_gap = log_is_cut(log) && live->position_bytes >= log_gap_bytes(log);
    size_t size = 0;

    live->out_at = 0;
    live->out_bytes = 0;
    if (!at_gap || live->marked)
        size = log_read(log, &live->position_bytes, chunk, most);
    if (size > 0) {
        live_put(live, chunk, size);
        return true;
    }
    if (!live->marked && (log_is_cut(log) || log->error != 0)) {
        live_flush(live);
        live_put_marker(live, log);
    } else if (log->finished) {
        live_flush(live);
    }
    return live->out_bytes > 0;
}

enum live_state live_pump(struct live *live, struct log *log)
{
    while (live->fd >= 0) {
        ssize_t count;

        if (live->out_at == live->out_bytes && !live_fill(live, log))
            return log->finished ? LIVE_DONE : LIVE_IDLE;
        if (live->out_bytes == 0)
            continue;
        count = write(live->fd, live->out + live->out_at, live->out_bytes - live->out_at);
        if (count >= 0)
            live->out_at += (size_t)count;
        else if (errno == EAGAIN)
            return LIVE_BLOCKED;
        else if (errno != EINTR)
            return LIVE_DONE; /* EPIPE: nobody looks any more */
    }
    return LIVE_DONE;
}
