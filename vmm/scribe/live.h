/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h: what the user sees of one stream while it runs (scribe). The bytes are hostile.
 *
 * The live copy follows the log file at the reader's own pace: it reads back what the log holds, so
 * a terminal that is slow or stands still costs no memory, never holds up the log, and never slows
 * the task; what it shows is what is kept. A stream past its cap gets one marker at that point, and
 * its tail once it has ended. A reader that is gone ends the live copy and nothing else.
 */
#ifndef VMM_SCRIBE_LIVE_H
#define VMM_SCRIBE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/ipc.h"
#include "base/escape.h"
#include "scribe/event.h"
#include "scribe/log.h"

enum {
    LIVE_CHUNK_BYTES = 64 * 1024,
    LIVE_OUT_BYTES = ESCAPE_FACTOR * (LIVE_CHUNK_BYTES + ESCAPE_CARRY_MAX),
};

struct live {
    int fd; /* -1: nobody looks, or nobody looks any more */
    const char *name;
    enum ipc_live form;
    bool marked;             /* the marker was shown */
    uint64_t position_bytes; /* of the stream: what comes next */
    struct escape escape;
    struct event event;
    uint8_t out[LIVE_OUT_BYTES];
    size_t out_at, out_bytes; /* OUT holds (out_at, out_bytes - out_at) still to be written */
};

enum live_state {
    LIVE_IDLE = 0,    /* everything that the log has for it is shown */
    LIVE_BLOCKED = 1, /* the reader must read first: wait until FD is writable */
    LIVE_DONE = 2,    /* nobody looks, or all is shown: the caller closes FD */
};

/*
 * FD is a pipe, which becomes non-blocking, or /dev/null for a stream that nobody looks at; it
 * belongs to the live copy from now on.
 */
int live_init(struct live *live, int fd, const char *name, enum ipc_live form, struct err *err);

/* Show as much of LOG as the reader takes now. */
enum live_state live_pump(struct live *live, struct log *log);

#endif
