/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: see batch.h. */
#include "supervisor/batch.h"

#include <stdio.h>
#include <sys/wait.h>

#include "base/num.h"

size_t batch_count(const struct batch *batch, enum batch_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        count += batch->runs[i].state == state;
    return count;
}

ssize_t batch_pick(const struct batch *batch, uint64_t left_bytes)
{
    if (batch->signal || batch_count(batch, BATCH_RUNNING) >= batch->jobs)
        return -1;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->runs[i].state == BATCH_WAITING && batch->runs[i].need_bytes <= left_bytes)
            return (ssize_t)i;
    }
    return -1;
}

uint64_t batch_left_bytes(const struct batch *batch, uint64_t available_bytes,
    uint64_t (*resident_bytes)(const struct batch_run *run))
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_run *run = &batch->runs[i];
        uint64_t open_bytes;

        if (run->state != BATCH_RUNNING)
            continue;
        open_bytes = run->need_bytes - u64_min(run->need_bytes, resident_bytes(run));
        available_bytes -= u64_min(available_bytes, open_bytes);
    }
    return available_bytes;
}

void batch_take_end(struct batch_run *run, int wait_status)
{
    run->code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    run->state = run->code == 0 ? BATCH_OK : BATCH_FAILED;
}

void batch_cancel(struct batch *batch, int signal_number)
{
    batch->signal = signal_number;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->runs[i].state == BATCH_WAITING)
            batch->runs[i].state = BATCH_NOT_STARTED;
    }
}

int batch_exit_code(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->runs[i].state != BATCH_OK)
            return batch->signal ? 128 + batch->signal : batch->runs[i].code;
    }
    return 0;
}

void batch_progress_text(const struct batch *batch, char text[BATCH_PROGRESS_BYTES])
{
    static const char *const names[BATCH_STATES] = {[BATCH_WAITING] = "waiting",
        [BATCH_RUNNING] = "running",
        [BATCH_OK] = "ok",
        [BATCH_FAILED] = "failed",
        [BATCH_NOT_STARTED] = "not started"};
    static const enum batch_state order[BATCH_STATES] = {
        BATCH_OK, BATCH_FAILED, BATCH_RUNNING, BATCH_WAITING, BATCH_NOT_STARTED};
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < BATCH_STATES; i++) {
        size_t count = batch_count(batch, order[i]);

        if (count > 0 && used < BATCH_PROGRESS_BYTES)
            used += (size_t)snprintf(text + used, BATCH_PROGRESS_BYTES - used, "%s%zu %s",
                used ? ", " : "", count, names[order[i]]);
    }
}
