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

int live_init(struct live *live, int fd, const char *name, bool escaped, struct err *err)
{
    struct stat info;

    *live = (struct live){.fd = fd, .name = name, .escaped = escaped};
    if (fstat(fd, &info) < 0)
        return err_sys(err, "cannot look at the live fd of %s", name);
    if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) {
        fd_close(&live->fd); /* /dev/null */
        return 0;
    }
    return fd_set_nonblocking(fd, err);
}

static void live_flush_escape(struct live *live)
{
    live->out_bytes += escape_flush(&live->escape, live->out + live->out_bytes);
}

/* The one line in the stream that is not the task's. */
static void live_put_marker(struct live *live, const struct log *log)
{
    char text[256];
    int length;

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
    live->marked = true;
}

/* Fill OUT, which is empty, with what comes next; it stays empty when there is nothing now. */
static void live_fill(struct live *live, struct log *log)
{
    uint8_t chunk[LIVE_CHUNK_BYTES];
    bool at_gap = log_is_cut(log) && live->position_bytes >= log_gap_bytes(log);
    size_t size = 0;

    live->out_at = 0;
    live->out_bytes = 0;
    if (!at_gap || live->marked)
        size = log_read(log, &live->position_bytes, chunk, sizeof(chunk));
    if (size == 0 && !live->marked && (log_is_cut(log) || log->error != 0)) {
        live_flush_escape(live);
        live_put_marker(live, log);
    } else if (size == 0 && log->finished) {
        live_flush_escape(live);
    } else if (live->escaped) {
        live->out_bytes = escape_put(&live->escape, chunk, size, live->out);
    } else {
        memcpy(live->out, chunk, size);
        live->out_bytes = size;
    }
}

enum live_state live_pump(struct live *live, struct log *log)
{
    while (live->fd >= 0) {
        ssize_t count;

        if (live->out_at == live->out_bytes)
            live_fill(live, log);
        if (live->out_bytes == 0)
            return log->finished ? LIVE_DONE : LIVE_IDLE;
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
