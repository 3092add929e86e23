/* SPDX-License-Identifier: Apache-2.0 */
/* supervise_signals.c: requests to end a run: the first softly, the second at once (supervisor). */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "supervisor/supervise_internal.h"

/* How long the agent has to end the task. */
#define CANCEL_GRACE_NS (5 * NS_PER_S)

/* What the first request does now; what is left after the task is short. */
static const char *cancel_text(const struct supervision *run)
{
    if (run->state == STATE_SALVAGE)
        return "cancelling: the second guest is stopped";
    if (run->outcome->has_exited)
        return "the task has ended already; what is left is done; a second signal ends the run "
               "at once";
    if (run->state >= STATE_STOP)
        return "the run is ending already; a second signal ends it at once";
    if (run->state == STATE_TASK)
        return "cancelling: the task is told to end; a second signal ends the run at once";
    return "cancelling: the task is not started";
}

/* The first request is passed to the task; its files are still exported. */
static void cancel_softly(struct supervision *run, int number)
{
    struct err err = ERR_INIT;

    run_say(run, cancel_text(run));
    if (run->state == STATE_SALVAGE)
        run_salvage_cancel(run);
    if (run->outcome->has_exited || run->state >= STATE_STOP)
        return; /* the task's own verdict stands; what is left is short */
    run->outcome->cause = CAUSE_CANCELLED;
    run->outcome->cancel_signal = number;
    if (run->state != STATE_TASK || ipc_send_plain(run->monitor.ipc, IPC_CANCEL, &err) < 0) {
        run_end(run, CAUSE_CANCELLED);
        return;
    }
    loop_timer_set(&run->loop, &run->deadline,
        u64_min(run->deadline.deadline_ns, clock_mono_ns() + CANCEL_GRACE_NS));
}

static void cancel_hard(struct supervision *run, int number)
{
    if (run->outcome->cause == CAUSE_NONE) {
        run->outcome->cause = CAUSE_CANCELLED;
        run->outcome->cancel_signal = number;
    }
    if (run->state < STATE_KILLED)
        run_enter(run, STATE_KILLED);
    if (run->state == STATE_SCRIBE)
        run_scribe_overdue(run);
    child_kill(&run->extractor);
    run_salvage_cancel(run);
}

void run_signal_ready(void *context, uint32_t events)
{
    struct supervision *run = context;
    struct signalfd_siginfo info;

    (void)events;
    if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
        return;
    (void)run_take_records(run); /* what the monitor said before the signal counts */
    run->signal_count++;
    if (run->state == STATE_DONE)
        loop_stop(&run->loop); /* while draining */
    else if (run->signal_count == 1)
        cancel_softly(run, (int)info.ssi_signo);
    else
        cancel_hard(run, (int)info.ssi_signo);
}

sigset_t supervise_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* What our caller has us ignore stays ignored: nohup(1), jobs in the background. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&set, numbers[i]);
    }
    return set;
}

void supervise_block_signals(void)
{
    sigset_t set = supervise_signals();

    sigprocmask(SIG_BLOCK, &set, NULL);
}

int run_listen_to_signals(struct supervision *run, struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set = supervise_signals();

    sigaction(SIGPIPE, &ignore, NULL);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_sys(err, "cannot block signals");
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signal_fd < 0)
        return err_sys(err, "cannot listen to signals");
    return loop_add(&run->loop, &run->signals, run->signal_fd, EPOLLIN, err);
}
