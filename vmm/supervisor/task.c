/* SPDX-License-Identifier: Apache-2.0 */
/* task.c: see task.h: config, plan, machine, outcome, verdict, result. */
#include "supervisor/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "jail/cgroup.h"
#include "supervisor/artifact_json.h"
#include "supervisor/diagnose.h"
#include "supervisor/jail_limits.h"
#include "supervisor/json_memory.h"
#include "supervisor/output_dir.h"
#include "supervisor/result.h"
#include "supervisor/run_dir.h"
#include "supervisor/show.h"
#include "supervisor/story.h"
#include "supervisor/supervise.h"
#include "supervisor/verdict.h"

/* Longest line that is told: room for a path, or for a reason. */
enum { TASK_LINE_BYTES = 4400 };

struct task {
    const struct options *options;
    struct text_list *errors;
    void (*print)(const char *text);   /* a line on stderr */
    void (*narrate)(const char *text); /* the same, or nothing when quiet */
    struct config config;
    struct plan plan;
    struct disks disks;
    struct jail_ground ground;
    struct jail_cgroup cgroup;
    struct outcome outcome;
    struct supervision run;
};

/* What vmrun exits with when it could not begin a run. */
int task_exit_code(const struct options *options, bool users_fault)
{
    if (!options->exit_status)
        return VERDICT_EXIT_VMRUN;
    return users_fault ? STATUS_CODE_USAGE : STATUS_CODE_INFRA;
}

static void narrate_nothing(const char *text)
{
    (void)text;
}

static void print_to(void (*print)(const char *text), const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void task_print(const struct task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void task_narrate(const struct task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print_to(void (*print)(const char *text), const char *format, va_list args)
{
    char text[TASK_LINE_BYTES];

    vsnprintf(text, sizeof(text), format, args);
    print(text);
}

static void task_print(const struct task *task, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_to(task->print, format, args);
    va_end(args);
}

static void task_narrate(const struct task *task, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_to(task->narrate, format, args);
    va_end(args);
}

/* --timing: where the time went. It was asked for, so that --quiet does not hide it. */
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
    double ms, total = 0;

    (void)outcome_span_ms(&task->outcome, MOMENT_BEGIN, MOMENT_DONE, &total);
    task->print("phase            ms   share");
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        if (outcome_span_ms(&task->outcome, phases[i].from, phases[i].to, &ms))
            task_print(task, "%-8s %10.1f  %5.1f %%", phases[i].name, ms,
                total > 0 ? 100 * ms / total : 0);
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

/*
 * What could not be written at all, as on a full disk; that nobody wants to read is no error. True
 * when something was lost in this way.
 */
static bool tell_unwritten(const struct task *task)
{
    static const char *const names[] = {"stdout", "stderr"};
    bool lost = false;

    for (int i = 0; i < 2; i++) {
        if (task->run.live[i].write_errnum == 0)
            continue;
        task_print(task, "%s could not be written: %s; the file %s has what was kept", names[i],
            strerror(task->run.live[i].write_errnum), names[i]);
        lost = true;
    }
    return lost;
}

static void tell_changed(const struct task *task)
{
    const struct outcome *outcome = &task->outcome;

    if (outcome->kernel_digest.changed)
        task_narrate(task, "%s was written while the run went on: what of it ran is not known",
            task->plan.kernel_path);
    if (outcome->image_digest.changed)
        task_narrate(task,
            "%s was written while the run went on: what of it the guest saw is not known",
            task->config.image);
}

/* The verdict and where the files are. */
static void tell_verdict(const struct task *task, const struct verdict *verdict)
{
    struct text_list lines = {0};
    size_t files = 0;

    for (size_t i = 0; task->outcome.has_extracted && i < task->outcome.artifact_count; i++)
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
    if (task->outcome.salvage.tried && !task->outcome.salvage.exported)
        task_narrate(task, "nothing could be salvaged: %s", task->outcome.salvage.text);
    if (task->config.collect.count > 0 && artifacts_published(&task->outcome))
        task_narrate(task, "%zu artifact%s in %s/%s%s", files, files == 1 ? "" : "s",
            task->plan.output, task->config.artifacts_bundle ? BUNDLE_NAME : "artifacts",
            task->outcome.salvage.exported ? ", salvaged from the disk of the lost guest" : "");
}

static struct supervise_view task_view(
    const struct options *options, void (*narrate)(const char *text))
{
    struct supervise_view view = {.say = narrate,
        .verbose = options->verbose,
        .progress = !options->quiet && !options->member};

    if (options->events)
        view.output = VIEW_EVENTS;
    else if (options->json)
        view.output = VIEW_FILES;
    return view;
}

/* The list of artifacts has no bound that a reserve could have; all the rest of a result has. */
static struct verdict verdict_without_memory(struct task *task)
{
    outcome_free(&task->outcome); /* the list alone */
    task->outcome.cause = CAUSE_HOST;
    text_copy(task->outcome.host_text, sizeof(task->outcome.host_text),
        "out of memory: the artifacts are there, but cannot be listed");
    return verdict_make(&task->config, &task->outcome);
}

/* NULL when there is no memory even for a result without a list; *VERDICT may have changed. */
static char *task_result(struct task *task, int result_fd, struct verdict *verdict)
{
    AUTO_JSON_TEXT char *text =
        result_text(&task->plan, &task->outcome, verdict, RESULT_ARTIFACTS_MAX);

    if (!text) {
        *verdict = verdict_without_memory(task);
        return result_text(&task->plan, &task->outcome, verdict, 0);
    }
    if (!result_has_room(result_fd, text)) /* the manifest, if that is there, has the list */
        return result_text(&task->plan, &task->outcome, verdict, 0);
    return take(&text);
}

/* From here on there is a result, whatever happens. */
static int task_supervise(
    struct task *task, const struct run_dir *run_dir, int output_fd, int result_fd)
{
    AUTO_JSON_TEXT char *text = NULL;
    struct err err = ERR_INIT;
    struct verdict verdict;
    struct supervise_view view = task_view(task->options, task->narrate);
    const struct supervise_room room = {
        .run_dir = run_dir, .ground = &task->ground, .output_fd = output_fd};
    bool written = false;
    int code;

    supervise(&task->run, &task->plan, &task->disks, &room, &task->outcome, &view);
    verdict = verdict_make(&task->config, &task->outcome);
    text = task_result(task, result_fd, &verdict);
    written = result_write(output_fd, result_fd, task->plan.run_id, text, &err) == 0;
    if (!written) {
        text_list_add(task->errors, err.text);
        verdict.code = VERDICT_EXIT_VMRUN;
        verdict.status_code = STATUS_CODE_INFRA;
    }
    code = task->options->exit_status ? verdict.status_code : verdict.code;
    story_done(&task->run, &verdict, code);
    supervise_drain(&task->run);
    supervise_free(&task->run);
    tell_dropped(task);
    tell_changed(task);
    if (tell_unwritten(task))
        code = code ? code : task_exit_code(task->options, false);
    if (task->options->json && written)
        puts(text);
    tell_verdict(task, &verdict);
    if (task->options->timing)
        tell_times(task);
    if (written)
        task_narrate(task, "result in %s/result.json", task->plan.output);
    /* Without narration the reason of a failure of ours would be in the file alone. */
    if (verdict.code == VERDICT_EXIT_VMRUN && task->options->quiet)
        task_print(task, "%s: %s", verdict.status, verdict.reason);
    return code;
}

/* What would be run. */
static int task_show(const struct task *task, struct err *err)
{
    json_t *shown;

    json_memory_begin();
    shown = show_make(&task->plan, task->options->show == SHOW_PLAN);
    if (json_memory_failed())
        err_set(err, "out of memory while the plan was described");
    else if (task->options->json) {
        json_dumpf(shown, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        fputc('\n', stdout);
    } else if (show_print(shown, stdout) < 0) {
        err_set(err, "out of memory while the plan was described");
    }
    json_decref(shown);
    return err_is_set(err) ? -1 : 0;
}

/* What the jails are built on; nothing has been created when there is no such ground. */
static int task_make_ground(struct task *task, struct err *err)
{
    const struct config *config = &task->config;
    const struct jail_ground_wish wish = {.allow_weaker = config->allow_weaker_jail,
        .debug = config->jail_debug,
        .first_uid = config->first_uid,
        .count = config->uid_count};

    if (jail_ground_make(&task->ground, &wish, err) < 0)
        return -1;
    if (task->ground.kind == JAIL_WEAK)
        task_narrate(task, "the jails are weaker: there are no namespaces here, and "
                           "[machine] allow_weaker_jail = yes");
    return 0;
}

/* The cgroup of the children, where there can be one; a gc finds it after whatever happens. */
static int task_make_cgroup(struct task *task, const struct run_dir *run_dir, struct err *err)
{
    struct outcome_cgroup *outcome = &task->outcome.cgroup;
    struct jail_cgroup *cgroup = &task->cgroup;
    struct err why = ERR_INIT;

    outcome->limits = jail_limits_cgroup(&task->config);
    if (jail_cgroup_find(cgroup, task->plan.run_id, &why) == 0) {
        if (run_dir_record_cgroup(run_dir, cgroup->self, err) < 0)
            return -1;
        outcome->active = jail_cgroup_make(cgroup, &outcome->limits, &why) == 0;
    }
    outcome->kind = cgroup->kind;
    task->ground.cgroup_fd = cgroup->fd;
    task->ground.cgroup_name = cgroup->name;
    text_copy(outcome->unused, sizeof(outcome->unused), why.text);
    if (!outcome->active && task->options->verbose)
        task_narrate(task, "no cgroup for the run: %s", why.text);
    return 0;
}

/* What is created now is there for others to see, and is gone or complete when this is over. */
static int task_run_in_directory(struct task *task, struct err *err)
{
    struct run_dir run_dir = RUN_DIR_INIT;
    AUTO_FD int output_fd = -1;
    AUTO_FD int result_fd = -1;
    bool created = false; /* the output directory was not there before */
    int code = task_exit_code(task->options, false);

    if (task_make_ground(task, err) < 0)
        return code;
    supervise_block_signals();
    if (run_dir_create(&run_dir, task->plan.run_id, err) == 0 &&
        task_make_cgroup(task, &run_dir, err) == 0) {
        output_fd = output_create(task->plan.output, &created, err);
        if (output_fd >= 0 && run_dir_record(&run_dir, output_fd, err) == 0)
            result_fd = result_reserve(output_fd, task->plan.run_id, err);
        if (result_fd >= 0)
            code = task_supervise(task, &run_dir, output_fd, result_fd);
        else if (created && output_fd >= 0)
            rmdir(task->plan.output); /* there is nothing in it yet */
    }
    run_dir_remove(&run_dir);
    return code;
}

static int task_plan(struct task *task)
{
    struct plan_request request = {.output = task->options->output,
        .console = task->options->console,
        .dry = task->options->show != SHOW_NOTHING};
    struct err err = ERR_INIT;
    int code = task_exit_code(task->options, false);

    if (plan_make(&task->plan, &task->config, &request, &err) == 0 && request.dry) {
        if (task_show(task, &err) == 0)
            code = 0;
    } else if (!err_is_set(&err) && disks_make(&task->disks, &task->plan, &err) == 0) {
        code = task_run_in_directory(task, &err);
    }
    if (err_is_set(&err))
        text_list_add(task->errors, err.text);
    disks_free(&task->disks);
    plan_free(&task->plan);
    return code;
}

int task_run(const struct options *options, uint64_t began_ns, struct text_list *errors,
    void (*print)(const char *text))
{
    static struct task the_task; /* too large for a small stack; a process has one */
    struct task *task = &the_task;
    int code;

    json_memory_use();
    *task = (struct task){.options = options,
        .errors = errors,
        .print = print,
        .narrate = options->quiet ? narrate_nothing : print,
        .disks = DISKS_INIT,
        .ground = JAIL_GROUND_INIT,
        .cgroup = JAIL_CGROUP_INIT};
    task->outcome.moments_ns[MOMENT_BEGIN] = began_ns;
    task->outcome.began_real_ns = clock_real_ns();
    if (config_load(&task->config, options->config, &options->sets, errors) == 0)
        code = task_plan(task);
    else
        code = task_exit_code(options, !errors->failed);
    outcome_free(&task->outcome);
    jail_cgroup_free(&task->cgroup);
    jail_ground_free(&task->ground);
    config_free(&task->config);
    return code;
}
