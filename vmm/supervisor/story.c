/* SPDX-License-Identifier: Apache-2.0 */
/*
 * story.c: see story.h. What the guest or a child said is a claim, and its strings are hostile:
 * they are shown escaped or as base64.
 */
#include "supervisor/story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervisor/result_parts.h"
#include "supervisor/supervise_internal.h"

/* Room for two paths. */
enum { STORY_LINE_BYTES = 8400 };

/* For -v: when, and what. */
static void say(struct supervision *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct supervision *run, const char *format, ...)
{
    char line[STORY_LINE_BYTES];
    va_list args;
    int used;

    if (!run->view.verbose || !run->view.say)
        return;
    used = snprintf(line, sizeof(line), "%8.1f ms  ",
        (double)(clock_mono_ns() - run->outcome->moments_ns[MOMENT_BEGIN]) / (double)NS_PER_MS);
    va_start(args, format);
    vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
    va_end(args);
    run_say(run, line);
}

static void tell(struct supervision *run, const char *name, json_t *detail)
{
    if (run->view.output == VIEW_EVENTS)
        events_tell(&run->events, name, detail);
    else
        json_decref(detail);
}

static void began(struct supervision *run)
{
    const struct plan *plan = run->plan;
    json_t *detail = json_object();

    put_text(detail, "schema", "vmrun.event/1");
    put_text(detail, "run_id", plan->run_id);
    put_text(detail, "task", plan->config->name);
    put_text(detail, "output", plan->output);
    tell(run, "started", detail);
    say(run, "run %s started: kernel %s, image %s", plan->run_id, plan->kernel_path,
        plan->config->image);
}

static void booted(struct supervision *run)
{
    const char *release = run->outcome->hello.release;
    json_t *detail = json_object();
    char shown[128];

    put_bytes(detail, "guest_kernel_claimed", release, strlen(release));
    tell(run, "booted", detail);
    text_escape(shown, sizeof(shown), release, strlen(release));
    say(run, "the guest has booted, Linux %s", shown);
}

static void exited(struct supervision *run)
{
    const struct wire_exited *claim = &run->outcome->exited;
    bool signalled = claim->how == WIRE_HOW_SIGNALLED;
    json_t *detail = json_object();

    put(detail, "exit_code",
        claim->how == WIRE_HOW_EXITED ? json_integer((json_int_t)claim->code) : json_null());
    put(detail, "signal", signalled ? json_integer((json_int_t)claim->code) : json_null());
    tell(run, "exited", detail);
    if (claim->how == WIRE_HOW_EXITED || signalled)
        say(run, "the task ended: %s %u", signalled ? "signal" : "exit code", claim->code);
    else
        say(run, "the task could not be started");
}

static void exported(struct supervision *run)
{
    const struct wire_exported *claim = &run->outcome->exported;
    json_t *detail = json_object();

    put_number(detail, "archive_bytes", claim->archive_bytes);
    tell(run, "exported", detail);
    say(run, "the guest has handed over its artifacts, %llu bytes",
        (unsigned long long)claim->archive_bytes);
}

void story_moment(struct supervision *run, enum outcome_moment moment)
{
    switch (moment) {
    case MOMENT_SPAWN:
        began(run);
        return;
    case MOMENT_HELLO:
        booted(run);
        return;
    case MOMENT_STARTED:
        tell(run, "task_started", json_object());
        say(run, "the task has been started");
        return;
    case MOMENT_EXITED:
        exited(run);
        return;
    case MOMENT_EXPORTED:
        exported(run);
        return;
    case MOMENT_GONE:
        say(run, "the machine is gone");
        return;
    default:
        return;
    }
}

void story_progress(void *context, char text[PROGRESS_TEXT_BYTES])
{
    static const struct {
        enum run_state last; /* up to this state */
        enum outcome_moment since;
        const char *what;
    } rows[] = {{STATE_BOOT, MOMENT_SPAWN, "booting"}, {STATE_SETUP, MOMENT_HELLO, "setting up"},
        {STATE_TASK, MOMENT_STARTED, "running"}, {STATE_EXPORT, MOMENT_EXITED, "exporting"},
        {STATE_DONE, MOMENT_SPAWN, "finishing"}};
    const struct supervision *run = context;
    size_t row = 0;
    uint64_t since;

    while (run->state > rows[row].last)
        row++;
    since = run->outcome->moments_ns[rows[row].since];
    if (since == 0 || run->state == STATE_DONE)
        return;
    if (run->state == STATE_TASK)
        snprintf(text, PROGRESS_TEXT_BYTES, "%s, %llu s of %llu s", rows[row].what,
            (unsigned long long)((clock_mono_ns() - since) / NS_PER_S),
            (unsigned long long)(run->plan->config->wall_ns / NS_PER_S));
    else
        snprintf(text, PROGRESS_TEXT_BYTES, "%s, %llu s", rows[row].what,
            (unsigned long long)((clock_mono_ns() - since) / NS_PER_S));
}

void story_done(struct supervision *run, const struct verdict *verdict, int exit_code)
{
    json_t *detail = json_object();

    result_verdict(detail, verdict);
    put_number(detail, "vmrun_exit_code", (uint64_t)exit_code);
    put_number(detail, "lines_dropped", run->live[0].dropped_lines);
    tell(run, "done", detail);
}
