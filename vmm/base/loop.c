/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c: see loop.h. */
#include "base/loop.h"

#include <errno.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"

int loop_init(struct loop *loop, struct err *err)
{
    *loop = (struct loop){.epoll_fd = -1};
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        return err_sys(err, "cannot create an epoll instance");
    return 0;
}

void loop_fini(struct loop *loop)
{
    fd_close(&loop->epoll_fd);
    loop->timers = NULL;
}

int loop_add(
    struct loop *loop, struct loop_source *source, int fd, uint32_t events, struct err *err)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(err, "cannot wait for fd %d", fd);
    source->fd = fd;
    source->events = events;
    return 0;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    if (source->fd < 0)
        return;
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    source->fd = -1;
    for (int i = 0; i < loop->batch_count; i++) {
        if (loop->batch[i].data.ptr == source)
            loop->batch[i].data.ptr = NULL;
    }
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->armed)
        return;
    for (struct loop_timer **at = &loop->timers; *at; at = &(*at)->next) {
        if (*at == timer) {
            *at = timer->next;
            break;
        }
    }
    timer->armed = false;
    timer->next = NULL;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t deadline_ns)
{
    struct loop_timer **at = &loop->timers;

    loop_timer_clear(loop, timer);
    if (deadline_ns < loop->turn_ns)
        deadline_ns = loop->turn_ns;
    while (*at && (*at)->deadline_ns <= deadline_ns)
        at = &(*at)->next;
    timer->deadline_ns = deadline_ns;
    timer->next = *at;
    timer->armed = true;
    *at = timer;
}

/* Milliseconds until the earliest timer, rounded up so that nothing fires early; -1 without one. */
static int loop_timeout_ms(const struct loop *loop)
{
    uint64_t now, wait_ms;

    if (!loop->timers)
        return -1;
    now = clock_mono_ns();
    if (loop->timers->deadline_ns <= now)
        return 0;
    wait_ms = (loop->timers->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return (int)u64_min(wait_ms, 60000);
}

/* Those that are due now: one that is set meanwhile fires when the sources have had their turn. */
static void loop_fire_timers(struct loop *loop)
{
    uint64_t now;

    if (!loop->timers)
        return; /* without asking for the time */
    now = clock_mono_ns();
    loop->turn_ns = now + 1;
    while (!loop->stopped && loop->timers && loop->timers->deadline_ns <= now) {
        struct loop_timer *timer = loop->timers;

        loop_timer_clear(loop, timer);
        timer->expired(timer->context);
    }
    loop->turn_ns = 0;
}

int loop_run(struct loop *loop, struct err *err)
{
    loop->stopped = false;
    while (!loop->stopped) {
        int count = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, loop_timeout_ms(loop));

        if (count < 0 && errno != EINTR)
            return err_sys(err, "cannot wait for events");
        loop->batch_count = count < 0 ? 0 : count;
        for (int i = 0; i < loop->batch_count && !loop->stopped; i++) {
            struct loop_source *source = loop->batch[i].data.ptr;

            if (source)
                source->ready(source->context, loop->batch[i].events);
        }
        loop->batch_count = 0;
        loop_fire_timers(loop);
    }
    return 0;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}
