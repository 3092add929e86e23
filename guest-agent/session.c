/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c: see session.h. In the order of a run:
 *
 *     task at the gate   limits read back, STARTED, gate opened, wall clock and watch.h run
 *     limit or CANCEL    SIGTERM to all; SESSION_GRACE_NS later the cgroup is killed
 *     main ended         EXITED with the numbers of that moment
 *     drain              until output rests for SESSION_IDLE_NS, at most SESSION_DRAIN_NS
 *     kill               whatever is left in the cgroup
 *     init ended         no process is left, so the pipes end; what is in them goes out
 *
 * A task that leaves nothing behind skips drain and kill: its init ends by itself.
 */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/num.h"
#include "cgroup.h"
#include "controls.h"
#include "guest.h"
#include "pump.h"
#include "stop.h"
#include "task.h"
#include "watch.h"
#include "wire/wire.h"

#define SESSION_GRACE_NS (500 * NS_PER_MS)
#define SESSION_IDLE_NS  (100 * NS_PER_MS)
#define SESSION_DRAIN_NS (500 * NS_PER_MS)
#define SESSION_REAP_NS  (30 * NS_PER_S)

struct session {
    const struct channel *channel;
    const struct job *job;
    struct err *err; /* set: the session has failed, and the loop stops */
    uint64_t job_ns;
    uint64_t start_ns; /* 0 until the gate is open */
    uint64_t drain_end_ns;
    uint32_t limits; /* enum wire_limit: what the agent ended the task for */
    bool ending;     /* SIGTERM was sent */
    bool main_ended; /* EXITED was sent */
    bool init_ended; /* no process is left */
    struct task task;
    struct loop loop;
    struct loop_source control;
    struct loop_source status;
    struct loop_timer wall;
    struct loop_timer grace;
    struct watch watch;
    struct loop_timer drain;
    struct loop_timer reap;
    struct pump out;
    struct pump errors;
    struct pump in;
    uint8_t raw_header[WIRE_HEADER_BYTES];
    size_t raw_header_used;
};

static int session_fail(struct session *session)
{
    must(err_is_set(session->err));
    loop_stop(&session->loop);
    return -1;
}

static int session_send_exited(
    const struct channel *channel, const struct wire_exited *exited, struct err *err)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];

    return channel_send(channel, message, wire_put_exited(message, sizeof(message), exited), err);
}

int session_refuse(const struct channel *channel, const struct err *why, struct err *err)
{
    struct wire_exited exited = {.how = WIRE_HOW_SETUP_FAILED, .code = (uint32_t)why->errnum};

    memcpy(exited.text, why->text, strnlen(why->text, WIRE_TEXT_BYTES));
    if (session_send_exited(channel, &exited, err) < 0)
        return -1;
    (void)shutdown(channel->stdout_fd, SHUT_WR);
    (void)shutdown(channel->stderr_fd, SHUT_WR);
    return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void session_check_done(void *context)
{
    struct session *session = context;

    if (session->init_ended && session->out.done && session->errors.done)
        loop_stop(&session->loop);
}

static void session_input_done(void *context)
{
    (void)context;
}

static void session_reap_expired(void *context)
{
    struct session *session = context;

    err_set(session->err, "processes of the task do not end when they are killed");
    session_fail(session);
}

static void session_kill(struct session *session)
{
    if (cgroup_kill(session->task.cgroup, session->err) < 0) {
        session_fail(session);
        return;
    }
    loop_timer_set(&session->loop, &session->reap, clock_mono_ns() + SESSION_REAP_NS);
}

static void session_drain_expired(void *context)
{
    struct session *session = context;
    uint64_t now = clock_mono_ns();
    uint64_t active = session->out.active_ns;
    uint64_t idle_end;

    if (session->errors.active_ns > active)
        active = session->errors.active_ns;
    idle_end = u64_min(active + SESSION_IDLE_NS, session->drain_end_ns);
    if (idle_end > now)
        loop_timer_set(&session->loop, &session->drain, idle_end);
    else
        session_kill(session);
}

/* The main process is gone, or never was: say so at once, with the numbers of this moment. */
static void session_main_ended(struct session *session, struct wire_exited *exited)
{
    struct cgroup_stats stats;
    uint64_t now = clock_mono_ns();

    cgroup_read_stats(session->task.cgroup, &stats);
    exited->run_ns = session->start_ns ? now - session->start_ns : 0;
    exited->user_ns = stats.user_ns;
    exited->system_ns = stats.system_ns;
    exited->memory_peak_bytes = stats.memory_peak_bytes;
    exited->oom_kills = stats.oom_kills;
    exited->pids_max_events = stats.pids_max_events;
    exited->limits = session->limits | (stats.oom_kills ? WIRE_LIMIT_MEMORY : 0U) |
                     (stats.pids_max_events ? WIRE_LIMIT_PROCESSES : 0U) |
                     guest_scratch_limits(session->job);
    session->main_ended = true;
    watch_stop(&session->watch);
    loop_timer_clear(&session->loop, &session->wall);
    loop_timer_clear(&session->loop, &session->grace);
    if (session_send_exited(session->channel, exited, session->err) < 0) {
        session_fail(session);
        return;
    }
    session->drain_end_ns = now + SESSION_DRAIN_NS;
    loop_timer_set(&session->loop, &session->drain, now + SESSION_IDLE_NS);
}

static void session_init_ended(struct session *session)
{
    loop_remove(&session->loop, &session->status);
    loop_timer_clear(&session->loop, &session->drain);
    loop_timer_clear(&session->loop, &session->reap);
    task_reap(&session->task);
    session->init_ended = true;
    if (!session->main_ended || !cgroup_empty(session->task.cgroup)) {
        err_set(session->err, "the init of the task ended before the task");
        session_fail(session);
        return;
    }
    session_check_done(session);
}

/* ---- the task's events ---------------------------------------------------------------------- */

static void session_end_task(struct session *session, uint32_t limit)
{
    if (session->main_ended)
        return;
    session->limits |= limit;
    if (session->ending) { /* asked twice: no more patience */
        session_kill(session);
        return;
    }
    session->ending = true;
    /* The first limit is the verdict; what else is reached while the task ends is not. */
    watch_stop(&session->watch);
    loop_timer_clear(&session->loop, &session->wall);
    cgroup_signal(session->task.cgroup, SIGTERM);
    loop_timer_set(&session->loop, &session->grace, clock_mono_ns() + SESSION_GRACE_NS);
}

static void session_wall_expired(void *context)
{
    session_end_task(context, WIRE_LIMIT_WALL);
}

static void session_watch_reached(void *context, uint32_t limit)
{
    session_end_task(context, limit);
}

static void session_grace_expired(void *context)
{
    session_kill(context);
}

static int session_start_task(struct session *session)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct wire_started started = {0};
    uint64_t wall_end = UINT64_MAX;
    size_t size;

    if (controls_verify(&session->task, session->job, &started.controls, session->err) < 0)
        return session_fail(session);
    session->start_ns = clock_mono_ns();
    started.setup_ns = session->start_ns - session->job_ns;
    size = wire_put_started(message, sizeof(message), &started);
    if (channel_send(session->channel, message, size, session->err) < 0)
        return session_fail(session);
    (void)u64_add(session->start_ns, session->job->wall_ns, &wall_end);
    loop_timer_set(&session->loop, &session->wall, wall_end);
    watch_start(
        &session->watch, &session->loop, session->task.cgroup, session->job, session->start_ns);
    if (task_open_gate(&session->task, session->err) < 0)
        return session_fail(session);
    return 0;
}

static void session_task_failed(struct session *session, const struct task_event *event)
{
    struct wire_exited exited = {.how = event->how, .code = event->code};

    if (event->how == TASK_HOW_FATAL) {
        err_set(session->err, "%s", event->text);
        session->err->errnum = (int)event->code;
        session_fail(session);
        return;
    }
    memcpy(exited.text, event->text, sizeof(exited.text));
    session_main_ended(session, &exited);
}

static void session_task_exited(struct session *session, const struct task_event *event)
{
    int status = (int)event->code;
    struct wire_exited exited = {.how = WIRE_HOW_EXITED};

    if (session->main_ended) /* by TASK_FAILED, which says more */
        return;
    if (WIFSIGNALED(status)) {
        exited.how = WIRE_HOW_SIGNALLED;
        exited.code = (uint32_t)WTERMSIG(status);
    } else {
        exited.code = (uint32_t)WEXITSTATUS(status);
    }
    session_main_ended(session, &exited);
}

static void session_status_ready(void *context, uint32_t events)
{
    struct session *session = context;
    struct task_event event;
    int more = task_event_read(&session->task, &event);

    (void)events;
    if (more == 0)
        session_init_ended(session);
    else if (more > 0 && event.kind == TASK_READY && session->ending)
        session_kill(session);
    else if (more > 0 && event.kind == TASK_READY)
        (void)session_start_task(session);
    else if (more > 0 && event.kind == TASK_FAILED)
        session_task_failed(session, &event);
    else if (more > 0)
        session_task_exited(session, &event);
}

/* ---- the host's messages -------------------------------------------------------------------- */

static void session_control_ready(void *context, uint32_t events)
{
    struct session *session = context;
    size_t used = session->raw_header_used;
    struct wire_header header;
    ssize_t count = read(
        session->channel->control, session->raw_header + used, sizeof(session->raw_header) - used);

    (void)events;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0)
        stop_reset("the host closed the control stream");
    session->raw_header_used += (size_t)count;
    if (session->raw_header_used < sizeof(session->raw_header))
        return;
    session->raw_header_used = 0;
    if (wire_get_header(session->raw_header, 0, &header, session->err) < 0) {
        session_fail(session);
        return;
    }
    if (header.type != WIRE_CANCEL) {
        err_set(session->err, "the host sent message type %u in a run", header.type);
        session_fail(session);
        return;
    }
    session_end_task(session, WIRE_LIMIT_CANCELLED);
}

/* ---- the run -------------------------------------------------------------------------------- */

static int session_begin(struct session *session)
{
    const struct channel *channel = session->channel;
    struct loop *loop = &session->loop;
    struct err *err = session->err;

    if (loop_init(loop, err) < 0 || task_start(&session->task, session->job, err) < 0)
        return -1;
    if (loop_add(loop, &session->control, channel->control, EPOLLIN, err) < 0 ||
        loop_add(loop, &session->status, session->task.status_fd, EPOLLIN, err) < 0)
        return -1;
    pump_start(&session->out, loop, PUMP_OUTPUT, session->task.stdout_fd, channel->stdout_fd,
        session_check_done, session, err);
    pump_start(&session->errors, loop, PUMP_OUTPUT, session->task.stderr_fd, channel->stderr_fd,
        session_check_done, session, err);
    if (session->task.stdin_fd >= 0)
        pump_start(&session->in, loop, PUMP_INPUT, channel->stdin_fd, session->task.stdin_fd,
            session_input_done, session, err);
    return err_is_set(err) ? -1 : 0;
}

int session_run(
    const struct channel *channel, const struct job *job, uint64_t job_ns, struct err *err)
{
    static struct session session; /* the one run of this machine; buffers too large for a stack */

    session.channel = channel;
    session.job = job;
    session.err = err;
    session.job_ns = job_ns;
    session.task = (struct task)TASK_INIT;
    session.control =
        (struct loop_source){.fd = -1, .ready = session_control_ready, .context = &session};
    session.status =
        (struct loop_source){.fd = -1, .ready = session_status_ready, .context = &session};
    session.wall = (struct loop_timer){.expired = session_wall_expired, .context = &session};
    session.grace = (struct loop_timer){.expired = session_grace_expired, .context = &session};
    session.watch = (struct watch){.outputs = {&session.out, &session.errors},
        .reached = session_watch_reached,
        .context = &session};
    session.drain = (struct loop_timer){.expired = session_drain_expired, .context = &session};
    session.reap = (struct loop_timer){.expired = session_reap_expired, .context = &session};
    if (session_begin(&session) < 0 || loop_run(&session.loop, err) < 0)
        return -1;
    loop_fini(&session.loop);
    return err_is_set(err) ? -1 : 0;
}
