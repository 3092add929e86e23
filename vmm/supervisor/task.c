/* SPDX-License-Identifier: Apache-2.0 */
/* task.c: see task.h: config, plan, machine, outcome, verdict, result. */
#include "supervisor/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/diagnose.h"
#include "supervisor/output_dir.h"
#include "supervisor/result.h"
#include "supervisor/run_dir.h"
#include "supervisor/supervise.h"
#include "supervisor/verdict.h"

struct task {
    const struct options *options;
    struct text_list *errors;
    void (*narrate)(const char *text); /* never NULL */
    struct config config;
    struct plan plan;
    struct disks disks;
    struct outcome outcome;
    struct supervision run;
};

static void narrate_nothing(const char *text)
{
    (void)text;
}

static void task_narrate(const struct task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void task_narrate(const struct task *task, const char *format, ...)
{
    AUTO_FREE char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    must(length >= 0);
    task->narrate(text);
}

static void tell_times(const struct task *task)
{
    static const struct {
        const char *name;
        enum outcome_moment from, to;
    } phases[] = {{"prepare", MOMENT_BEGIN, MOMENT_SPAWN}, {"launch", MOMENT_SPAWN, MOMENT_RUNNING},
        {"boot", MOMENT_RUNNING, MOMENT_HELLO}, {"set-up", MOMENT_HELLO, MOMENT_STARTED},
        {"task", MOMENT_STARTED, MOMENT_EXITED}, {"export", MOMENT_EXITED, MOMENT_EXPORTED},
        {"stop", MOMENT_EXPORTED, MOMENT_GONE}, {"finish", MOMENT_GONE, MOMENT_DONE},
        {"total", MOMENT_BEGIN, MOMENT_DONE}};

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        double ms;

        if (outcome_span_ms(&task->outcome, phases[i].from, phases[i].to, &ms))
            task_narrate(task, "%-7s %9.1f ms", phases[i].name, ms);
    }
}

/* What a slow reader was not shown, because it could not be kept for it. */
static void tell_dropped(const struct task *task)
{
    static const char *const names[] = {"stdout", "stderr"};

    for (int i = 0; i < 2; i++) {
        if (task->run.live[i].dropped_bytes > 0)
            task_narrate(task, "%llu bytes of %s were not shown; the file %s has what was kept",
                (unsigned long long)task->run.live[i].dropped_bytes, names[i], names[i]);
    }
}

/* The verdict and where the files are. */
static void tell_verdict(const struct task *task, const struct verdict *verdict)
{
    struct text_list lines = {0};
    size_t files = 0;

    for (size_t i = 0; i < task->outcome.artifact_count; i++)
        files += task->outcome.artifacts[i].kind == ENTRY_FILE;
    task_narrate(task, "%s: %s", verdict->status, verdict->reason);
    diagnose_machine(verdict, &task->outcome, &lines);
    for (size_t i = 0; i < lines.count; i++)
        task->narrate(lines.items[i]);
    text_list_free(&lines);
    for (size_t i = 0; i < verdict->limit_count; i++) {
        if (!verdict->limit || strcmp(verdict->limits_hit[i], verdict->limit) != 0)
            task_narrate(task, "limit reached: %s", verdict->limits_hit[i]);
    }
    if (task->options->verbose)
        tell_times(task);
    if (task->config.collect.count > 0)
        task_narrate(task, "%zu artifact%s in %s/artifacts", files, files == 1 ? "" : "s",
            task->plan.output);
}

/* From here on there is a result, whatever happens. */
static int task_supervise(struct task *task, const struct run_dir *run_dir, int output_fd)
{
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;
    struct verdict verdict;
    bool written;

    supervise(
        &task->run, &task->plan, &task->disks, run_dir, output_fd, &task->outcome, task->narrate);
    verdict = verdict_make(&task->config, &task->outcome);
    text = result_text(&task->plan, &task->outcome, &verdict);
    written = result_write(output_fd, task->plan.run_id, text, &err) == 0;
    if (!written) {
        text_list_add(task->errors, err.text);
        verdict.code = VERDICT_EXIT_VMRUN;
    }
    supervise_drain(&task->run);
    supervise_free(&task->run);
    tell_dropped(task);
    tell_verdict(task, &verdict);
    if (written)
        task_narrate(task, "result in %s/result.json", task->plan.output);
    /* Without narration the reason of a failure of ours would be in the file alone. */
    if (verdict.code == VERDICT_EXIT_VMRUN && task->options->quiet)
        text_list_addf(task->errors, "%s: %s", verdict.status, verdict.reason);
    return verdict.code;
}

/* What is created now is there for others to see, and is gone or complete when this is over. */
static int task_run_in_directory(struct task *task, struct err *err)
{
    struct run_dir run_dir = RUN_DIR_INIT;
    AUTO_FD int output_fd = -1;
    int code = VERDICT_EXIT_VMRUN;

    supervise_block_signals();
    if (run_dir_create(&run_dir, task->plan.run_id, err) == 0) {
        output_fd = output_create(task->plan.output, err);
        if (output_fd >= 0 && run_dir_record(&run_dir, output_fd, err) == 0)
            code = task_supervise(task, &run_dir, output_fd);
    }
    run_dir_remove(&run_dir);
    return code;
}

static int task_plan(struct task *task)
{
    struct plan_request request = {
        .output = task->options->output, .console = task->options->console};
    struct err err = ERR_INIT;
    int code = VERDICT_EXIT_VMRUN;

    if (plan_make(&task->plan, &task->config, &request, &err) == 0 &&
        disks_make(&task->disks, &task->plan, &err) == 0)
        code = task_run_in_directory(task, &err);
    if (err_is_set(&err))
        text_list_add(task->errors, err.text);
    disks_free(&task->disks);
    plan_free(&task->plan);
    return code;
}

int task_run(const struct options *options, uint64_t began_ns, struct text_list *errors,
    void (*narrate)(const char *text))
{
    struct task *task = calloc(1, sizeof(*task)); /* too large for a small stack */
    int code = VERDICT_EXIT_VMRUN;

    must(task != NULL);
    task->options = options;
    task->errors = errors;
    task->narrate = narrate ? narrate : narrate_nothing;
    task->disks = (struct disks)DISKS_INIT;
    task->outcome.moments_ns[MOMENT_BEGIN] = began_ns;
    task->outcome.began_real_ns = clock_real_ns();
    if (config_load(&task->config, options->config, &options->sets, errors) == 0)
        code = task_plan(task);
    outcome_free(&task->outcome);
    config_free(&task->config);
    free(task);
    return code;
}
