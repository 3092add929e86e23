/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribe.c: see scribe.h. Global state: the one struct below and the static buffers of log.c and
 * stream.c, so that memory is fixed from the start.
 */
#include "scribe/scribe.h"

#include <signal.h>

#include "base/loop.h"
#include "ipc/ipc.h"
#include "jail/jail.h"
#include "scribe/powers.h"
#include "scribe/stream.h"

struct scribe {
    struct loop loop;
    struct loop_source supervisor;
    struct stream streams[STREAM_COUNT];
    unsigned int done_count;
    struct err err; /* why the scribe had to stop early */
};

static struct scribe scribe = {.loop = {.epoll_fd = -1}};

static void scribe_fail(void *context, const struct err *err)
{
    (void)context;
    if (!err_is_set(&scribe.err))
        scribe.err = *err;
    loop_stop(&scribe.loop);
}

static void scribe_on_ended(void *context, const struct ipc_stream_totals *totals)
{
    struct err err = ERR_INIT;

    if (ipc_send_stream(IPC_FD, totals, &err) < 0)
        scribe_fail(context, &err);
}

static void scribe_on_done(void *context)
{
    (void)context;
    scribe.done_count++;
    if (scribe.done_count == STREAM_COUNT)
        loop_stop(&scribe.loop);
}

/* The supervisor has nothing more to say: what comes is its end. */
static void scribe_on_supervisor(void *context, uint32_t events)
{
    struct err err = ERR_INIT;

    (void)events;
    err_set(&err, "the supervisor is gone, or sent a record that was not due");
    scribe_fail(context, &err);
}

static int scribe_wait_for_setup(struct ipc_scribe *setup, struct err *err)
{
    static struct ipc_record record;
    int received = ipc_receive(IPC_FD, &record, err);

    if (received < 0)
        return -1;
    if (received == 0)
        return err_set(err, "the supervisor ended before the setup");
    return ipc_get_scribe(&record, setup, err);
}

static int scribe_start_and_run(struct err *err)
{
    static struct jail jail;
    struct ipc_scribe setup;

    if (jail_enter(&jail, &scribe_powers, err) < 0 || scribe_wait_for_setup(&setup, err) < 0 ||
        loop_init(&scribe.loop, err) < 0)
        return -1;
    scribe.supervisor = (struct loop_source){.fd = -1, .ready = scribe_on_supervisor};
    if (loop_add(&scribe.loop, &scribe.supervisor, IPC_FD, EPOLLIN, err) < 0)
        return -1;
    for (int id = 0; id < STREAM_COUNT; id++) {
        struct stream *stream = &scribe.streams[id];

        stream->ended = scribe_on_ended;
        stream->done = scribe_on_done;
        stream->failed = scribe_fail;
        if (stream_start(stream, &scribe.loop, (enum ipc_stream)id, &setup, err) < 0)
            return -1;
    }
    /* No stream was read yet, but the one without an end, /dev/null. */
    if (jail_seal(&jail, err) < 0)
        return -1;
    if (scribe.done_count < STREAM_COUNT && !err_is_set(&scribe.err) &&
        loop_run(&scribe.loop, err) < 0)
        return -1;
    *err = scribe.err;
    return err_is_set(err) ? -1 : 0;
}

int scribe_run(struct err *err)
{
    int failed;

    signal(SIGXFSZ, SIG_IGN); /* a log past RLIMIT_FSIZE is EFBIG */
    failed = scribe_start_and_run(err);
    loop_fini(&scribe.loop);
    return failed;
}
