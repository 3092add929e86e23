/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.c: the states of a run; see supervise.h. Input: records of the monitor, which may have
 * been taken over by the guest: every one is checked against the state before it counts.
 */
#include "supervisor/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "supervisor/monitor_rss.h"
#include "supervisor/story.h"
#include "supervisor/supervise_internal.h"

/* How long what is not a limit of the user's may take. */
#define WALL_GRACE_NS        (2 * NS_PER_S) /* for the agent to end the task itself */
#define HALT_GRACE_NS        (1 * NS_PER_S) /* between IPC_HALT and SIGKILL */
#define LEAVE_GRACE_NS       (5 * NS_PER_S)
#define EXPORT_BASE_NS       (30 * NS_PER_S)
#define SCRIBE_GRACE_NS      (10 * NS_PER_S)
#define SLOW_DISK_NS_PER_MIB (125 * NS_PER_MS) /* 8 MiB/s */
#define DRAIN_STALL_NS       (60 * NS_PER_S)

/* Time to move BYTES on a slow host. */
static uint64_t transfer_ns(uint64_t bytes)
{
    return (bytes / MIB + 1) * SLOW_DISK_NS_PER_MIB;
}

static void halt_monitor(struct supervision *run)
{
    struct err err = ERR_INIT;

    if (run->monitor.gated) { /* it does not listen yet, and no guest runs */
        run_enter(run, STATE_KILLED);
        return;
    }
    run_enter(run, STATE_STOP);
    loop_timer_set(&run->loop, &run->deadline, clock_mono_ns() + HALT_GRACE_NS);
    if (ipc_send_plain(run->monitor.ipc, IPC_HALT, &err) < 0)
        run_enter(run, STATE_KILLED);
}

void run_end(struct supervision *run, enum outcome_cause cause)
{
    if (run->outcome->cause == CAUSE_NONE)
        run->outcome->cause = cause;
    if (run->state < STATE_STOP)
        halt_monitor(run);
    else if (run->state < STATE_KILLED)
        run_enter(run, STATE_KILLED);
}

void run_fail(struct supervision *run, const struct err *err)
{
    if (run->outcome->cause == CAUSE_NONE)
        memcpy(run->outcome->host_text, err->text, sizeof(err->text));
    run_end(run, CAUSE_HOST);
}

/* ---- the state table ------------------------------------------------------------------------- */

static void boot_expired(struct supervision *run)
{
    run_end(run, CAUSE_BOOT_DEADLINE);
}

static void setup_expired(struct supervision *run)
{
    run_end(run, CAUSE_SETUP_DEADLINE);
}

static void task_expired(struct supervision *run)
{
    run_end(run, CAUSE_WALL_DEADLINE);
}

static void export_expired(struct supervision *run)
{
    run_end(run, CAUSE_EXPORT_DEADLINE);
}

static void stop_expired(struct supervision *run)
{
    run_end(run, CAUSE_STOP_DEADLINE);
}

/* It said that it ended, so nothing is lost with it. */
static void leave_expired(struct supervision *run)
{
    run_enter(run, STATE_KILLED);
}

#define ACCEPT(kind) (1U << (kind))

static const struct {
    uint32_t accepts; /* records of the monitor that may come */
    void (*expired)(struct supervision *run);
} state_rules[STATE_COUNT] = {
    [STATE_BOOT] = {ACCEPT(IPC_RUNNING) | ACCEPT(IPC_HELLO) | ACCEPT(IPC_ENDED), boot_expired},
    [STATE_SETUP] = {ACCEPT(IPC_STARTED) | ACCEPT(IPC_EXITED) | ACCEPT(IPC_ENDED), setup_expired},
    [STATE_TASK] = {ACCEPT(IPC_EXITED) | ACCEPT(IPC_ENDED), task_expired},
    [STATE_EXPORT] = {ACCEPT(IPC_EXPORTED) | ACCEPT(IPC_ENDED), export_expired},
    /* After a halt what was under way still arrives. */
    [STATE_STOP] = {ACCEPT(IPC_RUNNING) | ACCEPT(IPC_HELLO) | ACCEPT(IPC_STARTED) |
                        ACCEPT(IPC_EXITED) | ACCEPT(IPC_EXPORTED) | ACCEPT(IPC_ENDED),
        stop_expired},
    [STATE_LEAVE] = {0, leave_expired},
    [STATE_KILLED] = {0, NULL},
    [STATE_SALVAGE] = {0, run_salvage_overdue},
    [STATE_SCRIBE] = {0, run_scribe_overdue},
    [STATE_EXTRACT] = {0, run_extractor_overdue},
    [STATE_DONE] = {0, NULL},
};

/* How long a state may last; 0: as long as it takes. */
static uint64_t state_duration_ns(const struct supervision *run, enum run_state state)
{
    const struct config *config = run->plan->config;

    switch (state) {
    case STATE_BOOT:
        return config->boot_ns;
    case STATE_SETUP:
        /* Inputs are read and written; what archives unpack to is known to the guest alone. */
        return config->boot_ns + transfer_ns(disk_allocated_bytes(run->disks->import)) +
               config->unpack.count * transfer_ns(config->input_total_bytes);
    case STATE_TASK:
        return config->wall_ns + WALL_GRACE_NS;
    case STATE_EXPORT:
        return EXPORT_BASE_NS + transfer_ns(config->artifacts_total_bytes);
    case STATE_STOP:
    case STATE_LEAVE:
        return LEAVE_GRACE_NS;
    case STATE_SCRIBE:
        return SCRIBE_GRACE_NS + transfer_ns(config->stdout_bytes + config->stderr_bytes);
    case STATE_SALVAGE:
        return run_salvage_ns(config) + EXPORT_BASE_NS + transfer_ns(config->artifacts_total_bytes);
    case STATE_EXTRACT:
        /* Read, written, and hashed: holes and what is dropped again too. Compressed, if so. */
        return EXPORT_BASE_NS +
               transfer_ns(2 * disk_allocated_bytes(disks_export_fd(run->disks)) +
                           2 * disk_allocated_bytes(disks_export_fd(&run->salvage_disks)) +
                           (config->artifacts_bundle ? 4 : 2) * config->artifacts_total_bytes);
    default:
        return 0;
    }
}

void run_enter(struct supervision *run, enum run_state state)
{
    uint64_t duration_ns = state_duration_ns(run, state);

    run->state = state;
    loop_timer_clear(&run->loop, &run->deadline);
    if (duration_ns > 0)
        loop_timer_set(&run->loop, &run->deadline, clock_mono_ns() + duration_ns);
    if (state == STATE_KILLED)
        child_kill(&run->monitor);
    if (state == STATE_DONE)
        loop_stop(&run->loop);
}

static void deadline_expired(void *context)
{
    struct supervision *run = context;

    if (state_rules[run->state].expired)
        state_rules[run->state].expired(run);
}

void run_mark(struct supervision *run, enum outcome_moment moment)
{
    if (run->outcome->moments_ns[moment] != 0)
        return;
    run->outcome->moments_ns[moment] = clock_mono_ns();
    story_moment(run, moment);
}

void run_say(struct supervision *run, const char *text)
{
    if (!run->view.say)
        return;
    progress_hide(&run->progress);
    run->view.say(text);
}

/* ---- records of the monitor ------------------------------------------------------------------ */

/* Go on to STATE, unless the run is being ended already. */
static void run_advance(struct supervision *run, enum run_state state)
{
    if (run->state < state)
        run_enter(run, state);
}

static int take_running(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct ipc_running running;

    if (ipc_get_running(record, &running, err) < 0)
        return -1;
    if (running.mono_ns < run->outcome->moments_ns[MOMENT_SPAWN] ||
        running.mono_ns > clock_mono_ns())
        return err_set(err, "it names an impossible time for its start");
    run->outcome->moments_ns[MOMENT_RUNNING] = running.mono_ns;
    return 0;
}

static int take_hello(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;

    if (wire_get_hello(record->payload, record->size, &outcome->hello, err) < 0)
        return -1;
    outcome->has_hello = true;
    run_mark(run, MOMENT_HELLO);
    run_advance(run, STATE_SETUP);
    return 0;
}

static int take_started(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;

    if (wire_get_started(record->payload, record->size, &outcome->started, err) < 0)
        return -1;
    outcome->has_started = true;
    run_mark(run, MOMENT_STARTED);
    run_advance(run, STATE_TASK);
    if (run->state == STATE_TASK)
        run_limits_start(run);
    return 0;
}

static int take_exited(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;

    if (wire_get_exited(record->payload, record->size, &outcome->exited, err) < 0)
        return -1;
    outcome->has_exited = true;
    run_mark(run, MOMENT_EXITED);
    outcome->monitor_own_rss_bytes = monitor_own_rss_bytes(run->monitor.pid);
    run_advance(run, STATE_EXPORT);
    return 0;
}

static int take_exported(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;

    if (wire_get_exported(record->payload, record->size, &outcome->exported, err) < 0)
        return -1;
    outcome->has_exported = true;
    run_mark(run, MOMENT_EXPORTED);
    run_advance(run, STATE_STOP);
    return 0;
}

static int take_ended(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;

    if (ipc_get_ended(record, &outcome->ended, err) < 0)
        return -1;
    outcome->has_ended = true;
    run_mark(run, MOMENT_ENDED);
    run_advance(run, STATE_LEAVE);
    return 0;
}

static int take_record(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    static int (*const take[])(struct supervision *, const struct ipc_record *, struct err *) = {
        [IPC_RUNNING] = take_running,
        [IPC_HELLO] = take_hello,
        [IPC_STARTED] = take_started,
        [IPC_EXITED] = take_exited,
        [IPC_EXPORTED] = take_exported,
        [IPC_ENDED] = take_ended,
    };
    unsigned kind = (unsigned)record->kind;

    if (kind > IPC_ENDED || !(state_rules[run->state].accepts & ACCEPT(kind)) ||
        (run->records_seen & ACCEPT(kind)) || (run->monitor.gated && kind != IPC_ENDED))
        return err_set(err, "it sent record %u out of turn", kind);
    run->records_seen |= ACCEPT(kind);
    return take[kind](run, record, err);
}

/*
 * Records that are there, a bounded number: a monitor that sends without end must not keep the
 * deadlines from firing. Returns true when there may be more. After the last, or a bad one, the
 * channel is not listened to.
 */
bool run_take_records(struct supervision *run)
{
    struct ipc_record record;

    for (int i = 0; i < RUN_RECORDS_MAX && run->monitor_ipc.fd >= 0; i++) {
        struct err err = ERR_INIT;
        int count = ipc_receive(run->monitor.ipc, &record, &err);

        if (count < 0 && err.errnum == EAGAIN)
            return false;
        if (count > 0 && take_record(run, &record, &err) == 0)
            continue;
        loop_remove(&run->loop, &run->monitor_ipc);
        if (count == 0)
            return false; /* its end is seen at the pidfd */
        if (run->outcome->cause == CAUSE_NONE)
            memcpy(run->outcome->host_text, err.text, sizeof(err.text));
        run_end(run, CAUSE_MONITOR_RULE);
    }
    return run->monitor_ipc.fd >= 0;
}

static void monitor_ready(void *context, uint32_t events)
{
    (void)events;
    (void)run_take_records(context); /* what is left makes the fd ready again */
}

static void monitor_ended(void *context, uint32_t events)
{
    struct supervision *run = context;
    struct outcome *outcome = run->outcome;

    (void)events;
    for (int turn = 0; turn < RUN_LAST_TURNS_MAX && run_take_records(run); turn++)
        continue;
    loop_remove(&run->loop, &run->monitor_ipc);
    loop_remove(&run->loop, &run->monitor_end);
    loop_remove(&run->loop, &run->monitor_jail.source);
    child_reap(&run->monitor);
    run_mark(run, MOMENT_GONE);
    outcome->monitor_reaped = true;
    outcome->monitor_status = run->monitor.wait_status;
    outcome->monitor_usage = run->monitor.usage;
    child_end_text(&run->monitor, outcome->monitor_end, sizeof(outcome->monitor_end));
    if (outcome->cause == CAUSE_NONE && run->state == STATE_TASK &&
        WIFSIGNALED(outcome->monitor_status) && run_cpu_is_used_up(run))
        outcome->cause = CAUSE_CPU_DEADLINE; /* by its resource limit, which is a SIGKILL */
    if (!outcome->has_ended && outcome->cause == CAUSE_NONE)
        outcome->cause = CAUSE_MONITOR_ENDED;
    run_monitor_gone(run);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void run_init(struct supervision *run)
{
    struct {
        struct loop_source *source;
        void (*ready)(void *context, uint32_t events);
    } sources[] = {{&run->monitor_ipc, monitor_ready}, {&run->monitor_end, monitor_ended},
        {&run->scribe_ipc, run_scribe_ready}, {&run->scribe_end, run_scribe_ended},
        {&run->extractor_ipc, NULL}, {&run->extractor_end, NULL}, {&run->salvager_ipc, NULL},
        {&run->salvager_end, NULL}, {&run->monitor_jail.source, NULL},
        {&run->scribe_jail.source, NULL}, {&run->extractor_jail.source, NULL},
        {&run->salvager_jail.source, NULL}, {&run->signals, run_signal_ready}};

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        *sources[i].source =
            (struct loop_source){.fd = -1, .ready = sources[i].ready, .context = run};
    run->deadline = (struct loop_timer){.expired = deadline_expired, .context = run};
    run->monitor = run->scribe = run->extractor = run->salvager = (struct child)CHILD_INIT;
    run->salvage_disks = (struct disks)DISKS_INIT;
    run->signal_fd = run->artifacts_fd = run->console_fd = run->loop.epoll_fd = -1;
    for (int i = 0; i < 2; i++)
        run->live[i] = (struct live)LIVE_INIT;
    run->progress = (struct progress)PROGRESS_INIT;
    memset(run->log_fds, 0xff, sizeof(run->log_fds)); /* every fd -1 */
}

void supervise(struct supervision *run, const struct plan *plan, struct disks *disks,
    const struct supervise_room *room, struct outcome *outcome, const struct supervise_view *view)
{
    struct err err = ERR_INIT;

    memset(run, 0, sizeof(*run));
    run->plan = plan;
    run->disks = disks;
    run->run_dir = room->run_dir;
    run->ground = room->ground;
    run->output_fd = room->output_fd;
    run->outcome = outcome;
    if (run->ground) {
        outcome->jail_kind = run->ground->kind;
        outcome->jail_uid = run->ground->uid;
    }
    if (view)
        run->view = *view;
    run_init(run);
    events_init(&run->events, &run->live[0], outcome->moments_ns[MOMENT_BEGIN]);
    if (loop_init(&run->loop, &err) < 0 || run_listen_to_signals(run, &err) < 0 ||
        run_start(run, &err) < 0 || loop_run(&run->loop, &err) < 0) {
        outcome->cause = CAUSE_HOST;
        memcpy(outcome->host_text, err.text, sizeof(err.text));
    }
    /* Only after an error is one of them still there. */
    child_fini(&run->monitor);
    child_fini(&run->extractor);
    child_fini(&run->salvager);
    child_fini(&run->scribe);
    fd_close(&run->console_fd);
    stdin_pump_stop(&run->stdin_pump);
    progress_stop(&run->progress);
    run->state = STATE_DONE;
    run_logs_finish(run);
    run_digests_finish(run);
    run_drop_disks(run);
    outcome->export_bytes = disk_allocated_bytes(disks_export_fd(disks)) +
                            disk_allocated_bytes(disks_export_fd(&run->salvage_disks));
    disks_free(&run->salvage_disks);
    run_mark(run, MOMENT_DONE);
}

static void drain_expired(void *context)
{
    struct supervision *run = context;
    uint64_t progress_ns = run->live[0].progress_ns;

    if (run->live[1].progress_ns > progress_ns)
        progress_ns = run->live[1].progress_ns;
    if (clock_mono_ns() < progress_ns + DRAIN_STALL_NS) {
        loop_timer_set(&run->loop, &run->deadline, progress_ns + DRAIN_STALL_NS);
        return;
    }
    run_say(run, "nobody read the rest of the output for a minute; the files have it");
    loop_stop(&run->loop);
}

void supervise_drain(struct supervision *run)
{
    struct err err = ERR_INIT;

    if (live_drained(&run->live[0]) && live_drained(&run->live[1]))
        return;
    run->deadline.expired = drain_expired;
    loop_timer_set(&run->loop, &run->deadline, clock_mono_ns() + DRAIN_STALL_NS);
    if (loop_run(&run->loop, &err) < 0)
        run_say(run, err.text);
}

void supervise_free(struct supervision *run)
{
    struct child *const children[] = {&run->monitor, &run->scribe, &run->extractor, &run->salvager};

    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
        fd_close(&children[i]->net_ns_fd);
    for (int i = 0; i < 2; i++)
        live_stop(&run->live[i]);
    if (run->loop.epoll_fd >= 0)
        loop_fini(&run->loop);
    fd_close(&run->signal_fd);
    fd_close(&run->artifacts_fd);
}
