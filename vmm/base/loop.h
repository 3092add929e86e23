/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h: one epoll event loop with deadlines (every process but the extractor has at most one).
 *
 * The caller owns the sources and timers and keeps them in place while they are registered. A
 * handler may add, change and remove any source or timer, its own too: an event of the same batch
 * for a source that was removed is dropped. Level-triggered. Nothing wakes up when nothing is due.
 */
#ifndef VMM_BASE_LOOP_H
#define VMM_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

enum { LOOP_BATCH = 16 };

struct loop_source {
    int fd;          /* -1: not registered; the loop does not close it */
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0 still reports EPOLLHUP and EPOLLERR */
    void (*ready)(void *context, uint32_t events);
    void *context;
};

struct loop_timer {
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; fires once */
    void (*expired)(void *context);
    void *context;
    struct loop_timer *next;
    bool armed;
};

struct loop {
    int epoll_fd;
    struct loop_timer *timers; /* sorted, earliest first */
    uint64_t turn_ns;          /* while timers fire: when those that are set may be due; else 0 */
    struct epoll_event batch[LOOP_BATCH];
    int batch_count;
    bool stopped;
};

int loop_init(struct loop *loop, struct err *err);
void loop_fini(struct loop *loop);

int loop_add(
    struct loop *loop, struct loop_source *source, int fd, uint32_t events, struct err *err);
/* Safe on a source that is not registered. */
void loop_remove(struct loop *loop, struct loop_source *source);

/*
 * Fire once at DEADLINE_NS (CLOCK_MONOTONIC); an armed timer is moved. Set from a timer, even for a
 * time that is past, it lets the sources that are ready go first.
 */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t deadline_ns);
/* Safe on a timer that is not armed. */
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);

/* Dispatch until loop_stop(). Returns 0, or -1 when epoll itself fails. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

#endif
