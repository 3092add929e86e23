/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. A terminal that takes nothing now gets no line. */
#include "supervisor/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define ERASE "\r\033[K"

static void progress_write(struct progress *progress, const char *text)
{
    (void)!sink_write(&progress->sink, text, strlen(text));
}

static void progress_expired(void *context)
{
    struct progress *progress = context;
    char text[PROGRESS_TEXT_BYTES] = "";
    char line[PROGRESS_TEXT_BYTES + sizeof(ERASE) + 8];

    loop_timer_set(progress->loop, &progress->timer, clock_mono_ns() + NS_PER_S);
    if (progress->mid_line)
        return;
    progress->describe(progress->context, text);
    if (text[0] == '\0')
        return;
    snprintf(line, sizeof(line), ERASE "vmrun: %s", text);
    progress_write(progress, line);
    progress->shown = true;
}

void progress_start(struct progress *progress, struct loop *loop)
{
    if (!isatty(STDERR_FILENO))
        return;
    progress->sink = sink_open(STDERR_FILENO, O_WRONLY);
    progress->loop = loop;
    progress->timer.expired = progress_expired;
    progress->timer.context = progress;
    loop_timer_set(loop, &progress->timer, clock_mono_ns() + NS_PER_S);
}

void progress_stop(struct progress *progress)
{
    if (!progress->loop)
        return;
    progress_hide(progress);
    loop_timer_clear(progress->loop, &progress->timer);
    sink_close(&progress->sink);
    progress->loop = NULL;
}

void progress_hide(struct progress *progress)
{
    if (progress->shown)
        progress_write(progress, ERASE);
    progress->shown = false;
}

void progress_wrote(struct progress *progress, bool line_ended)
{
    progress->mid_line = !line_ended;
}
