/* SPDX-License-Identifier: Apache-2.0 */
/* loop_test.c: events reach who is registered and nobody else; timers fire once, in order, not
 * early. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "tests/unit/unit.h"

enum { PIPES = 3 };

struct fixture {
    struct loop loop;
    struct loop_source sources[PIPES];
    int ends[PIPES][2];
    int calls[PIPES];
    uint32_t last_events;
    struct loop_timer timers[4];
    char order[16];
};

static struct fixture fix;

static void *index_of(int i)
{
    return &fix.calls[i]; /* a context tells which source it is */
}

static size_t index_from(void *context)
{
    return (size_t)((int *)context - fix.calls);
}

static int set_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    memset(&fix, 0, sizeof(fix));
    if (loop_init(&fix.loop, &err) < 0)
        return -1;
    for (int i = 0; i < PIPES; i++) {
        if (pipe2(fix.ends[i], O_CLOEXEC | O_NONBLOCK) < 0)
            return -1;
        fix.sources[i] = (struct loop_source){.fd = -1, .context = index_of(i)};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < PIPES; i++) {
        close(fix.ends[i][0]);
        if (fix.ends[i][1] >= 0)
            close(fix.ends[i][1]);
    }
    loop_fini(&fix.loop);
    return fix.loop.epoll_fd == -1 ? 0 : -1;
}

static void add(int i, void (*ready)(void *, uint32_t))
{
    struct err err = ERR_INIT;

    fix.sources[i].ready = ready;
    assert_int_equal(loop_add(&fix.loop, &fix.sources[i], fix.ends[i][0], EPOLLIN, &err), 0);
}

static void feed(int i)
{
    assert_int_equal(write(fix.ends[i][1], "x", 1), 1);
}

static void run(void)
{
    struct err err = ERR_INIT;

    assert_int_equal(loop_run(&fix.loop, &err), 0);
}

static void stop_on_event(void *context, uint32_t events)
{
    fix.calls[index_from(context)]++;
    fix.last_events = events;
    loop_stop(&fix.loop);
}

static void count_and_read(void *context, uint32_t events)
{
    size_t i = index_from(context);
    char byte;

    (void)events;
    fix.calls[i]++;
    assert_int_equal(read(fix.ends[i][0], &byte, 1), 1);
    if (fix.calls[i] == 3)
        loop_stop(&fix.loop);
}

static void events_are_level_triggered(void **state)
{
    (void)state;
    add(0, count_and_read);
    for (int i = 0; i < 3; i++)
        feed(0);
    run();
    assert_int_equal(fix.calls[0], 3);
    add(1, stop_on_event);
    feed(1);
    run();
    run(); /* not read: it comes again */
    assert_int_equal(fix.calls[1], 2);
    assert_int_equal(fix.last_events, EPOLLIN);
}

static void a_closed_pipe_is_reported_without_events(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    add(0, stop_on_event);
    loop_remove(&fix.loop, &fix.sources[0]);
    assert_int_equal(loop_add(&fix.loop, &fix.sources[0], fix.ends[0][0], 0, &err), 0);
    close(fix.ends[0][1]);
    fix.ends[0][1] = -1;
    run();
    assert_int_equal(fix.last_events, EPOLLHUP);
}

/* Whichever comes first removes the two others: their events of the same batch must not arrive. */
static void remove_the_others(void *context, uint32_t events)
{
    size_t me = index_from(context);

    (void)events;
    fix.calls[me]++;
    for (size_t i = 0; i < PIPES; i++) {
        if (i != me)
            loop_remove(&fix.loop, &fix.sources[i]);
    }
    loop_remove(&fix.loop, &fix.sources[me]);
    loop_timer_set(&fix.loop, &fix.timers[0], clock_mono_ns() + 20 * NS_PER_MS);
}

static void stop_on_timer(void *context)
{
    (void)context;
    loop_stop(&fix.loop);
}

static void removed_sources_stay_silent(void **state)
{
    (void)state;
    fix.timers[0].expired = stop_on_timer;
    for (int i = 0; i < PIPES; i++) {
        add(i, remove_the_others);
        feed(i);
    }
    run();
    assert_int_equal(fix.calls[0] + fix.calls[1] + fix.calls[2], 1);
    for (int i = 0; i < PIPES; i++)
        assert_int_equal(fix.sources[i].fd, -1);
    loop_remove(&fix.loop, &fix.sources[0]); /* safe twice */
}

static void stopping_ends_the_batch(void **state)
{
    (void)state;
    for (int i = 0; i < PIPES; i++) {
        add(i, stop_on_event);
        feed(i);
    }
    run();
    assert_int_equal(fix.calls[0] + fix.calls[1] + fix.calls[2], 1);
}

static void note_timer(void *context)
{
    size_t used = strlen(fix.order);

    fix.order[used] = *(const char *)context;
    assert_true(used + 1 < sizeof(fix.order));
    if (*(const char *)context == 'z')
        loop_stop(&fix.loop);
}

static void timer(int i, const char *name, uint64_t deadline_ns)
{
    static char names[4];

    names[i] = *name;
    fix.timers[i].expired = note_timer;
    fix.timers[i].context = &names[i];
    loop_timer_set(&fix.loop, &fix.timers[i], deadline_ns);
}

static void timers_fire_in_order_once_and_not_early(void **state)
{
    uint64_t start = clock_mono_ns();

    (void)state;
    timer(0, "c", start + 15 * NS_PER_MS);
    timer(1, "a", start + 5 * NS_PER_MS);
    timer(2, "b", start + 5 * NS_PER_MS); /* the same deadline: first come, first served */
    timer(3, "z", start + 20 * NS_PER_MS);
    run();
    assert_true(clock_mono_ns() >= start + 20 * NS_PER_MS);
    assert_string_equal(fix.order, "abcz");
    for (int i = 0; i < 4; i++)
        assert_false(fix.timers[i].armed);
    assert_null(fix.loop.timers);
}

static void timers_move_and_clear(void **state)
{
    uint64_t start = clock_mono_ns();

    (void)state;
    timer(0, "a", start + 1 * NS_PER_MS);
    timer(1, "b", start + 2 * NS_PER_MS);
    timer(2, "c", start + 3 * NS_PER_MS);
    timer(3, "z", start + 12 * NS_PER_MS);
    loop_timer_clear(&fix.loop, &fix.timers[1]);
    loop_timer_clear(&fix.loop, &fix.timers[1]); /* safe twice */
    loop_timer_set(&fix.loop, &fix.timers[0], start + 9 * NS_PER_MS);
    run();
    assert_string_equal(fix.order, "caz");
}

static void clear_the_next(void *context)
{
    note_timer(context);
    loop_timer_clear(&fix.loop, &fix.timers[1]);
}

static void a_timer_may_clear_another_that_is_due(void **state)
{
    uint64_t start = clock_mono_ns();

    (void)state;
    timer(0, "a", start);
    fix.timers[0].expired = clear_the_next;
    timer(1, "b", start);
    timer(3, "z", start + NS_PER_MS);
    run();
    assert_string_equal(fix.order, "az");
}

static void bad_fds_are_errors(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(loop_add(&fix.loop, &fix.sources[0], -1, EPOLLIN, &err), -1);
    assert_true(err_is_set(&err));
    assert_int_equal(fix.sources[0].fd, -1);
    close(fix.loop.epoll_fd);
    fix.loop.epoll_fd = -1;
    err = (struct err)ERR_INIT;
    assert_int_equal(loop_run(&fix.loop, &err), -1);
    assert_true(err_is_set(&err));
}

/* Due again at once, from now on or for a time long past; only the source stops the loop. */
static void fire_again(void *context)
{
    if (fix.order[0] == '\0')
        feed(0);
    note_timer(context);
    loop_timer_set(&fix.loop, &fix.timers[0], strlen(fix.order) % 2 ? 0 : clock_mono_ns());
}

static void a_timer_that_is_always_due_starves_nobody(void **state)
{
    (void)state;
    add(0, stop_on_event);
    timer(0, "a", 0);
    fix.timers[0].expired = fire_again;
    timer(1, "b", 1);
    run();
    assert_int_equal(fix.calls[0], 1);
    assert_string_equal(fix.order, "ab");
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    LOOP_TEST(events_are_level_triggered),
    LOOP_TEST(a_closed_pipe_is_reported_without_events),
    LOOP_TEST(removed_sources_stay_silent),
    LOOP_TEST(stopping_ends_the_batch),
    LOOP_TEST(timers_fire_in_order_once_and_not_early),
    LOOP_TEST(timers_move_and_clear),
    LOOP_TEST(a_timer_may_clear_another_that_is_due),
    LOOP_TEST(a_timer_that_is_always_due_starves_nobody),
    LOOP_TEST(bad_fds_are_errors),
};

UNIT_MAIN(tests)
