/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_run.c: the processes of a batch; see batch.h. Input: lines that a run of ours wrote, which
 * may quote a task: they are stripped of what could steer a terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "jail/cgroup.h"
#include "supervisor/batch.h"
#include "supervisor/host_memory.h"
#include "supervisor/supervise.h"
#include "supervisor/verdict.h"

/* How often memory is looked at again while a run waits for it. */
#define TICK_NS (1 * NS_PER_S)

/* ---- telling --------------------------------------------------------------------------------- */

static void batch_show_progress(const struct batch *batch)
{
    char text[BATCH_PROGRESS_BYTES];

    batch_progress_text(batch, text);
    if (batch->progress)
        batch->progress(text);
}

static void batch_say(const struct batch *batch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void batch_say(const struct batch *batch, const char *format, ...)
{
    char text[BATCH_LINE_BYTES + CONFIG_NAME_MAX_BYTES + 64];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (batch->progress)
        batch->progress("");
    batch->say(text);
    batch_show_progress(batch);
}

/* One line of RUN. Errors come through even when the batch is quiet: the run says nothing else. */
static void run_tell(const struct batch_run *run, const char *line, size_t length)
{
    char text[BATCH_LINE_BYTES + 8];

    text_escape(text, sizeof(text), line, length);
    batch_say(run->batch, "%s: %s", run->name, text);
}

/* Read once and tell what lines there are. False when nothing more can be had now. */
static bool lines_take(struct batch_run *run)
{
    ssize_t count =
        read(run->lines_fd, run->line + run->line_bytes, sizeof(run->line) - run->line_bytes);
    char *newline;

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (count > 0)
        run->line_bytes += (size_t)count;
    while ((newline = memchr(run->line, '\n', run->line_bytes))) {
        size_t length = (size_t)(newline - run->line);

        run_tell(run, run->line, length);
        run->line_bytes -= length + 1;
        memmove(run->line, newline + 1, run->line_bytes);
    }
    /* What is longer than a line, or was cut by the end of the run. */
    if (run->line_bytes > 0 && (count <= 0 || run->line_bytes == sizeof(run->line))) {
        run_tell(run, run->line, run->line_bytes);
        run->line_bytes = 0;
    }
    return count > 0;
}

static void lines_close(struct batch_run *run)
{
    loop_remove(&run->batch->loop, &run->lines);
    fd_close(&run->lines_fd);
}

static void lines_ready(void *context, uint32_t events)
{
    struct batch_run *run = context;

    if (!lines_take(run) && (events & (EPOLLHUP | EPOLLERR)))
        lines_close(run);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void batch_start_more(struct batch *batch);

static void run_ended(void *context, uint32_t events)
{
    struct batch_run *run = context;
    struct batch *batch = run->batch;
    int status = 0;

    (void)events;
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    loop_remove(&batch->loop, &run->ended);
    fd_close(&run->pid_fd);
    run->pid = 0;
    while (run->lines_fd >= 0 && lines_take(run))
        continue;
    lines_close(run);
    batch_take_end(run, status);
    batch_show_progress(batch);
    batch_start_more(batch);
}

static void run_arguments(const struct batch_run *run, struct text_list *arguments)
{
    const struct options *options = run->batch->options;

    text_list_add(arguments, "vmrun");
    text_list_add(arguments, "--batch-member");
    text_list_addf(arguments, "--config=%s", run->config);
    if (options->output)
        text_list_addf(arguments, "--output=%s/%s", options->output, run->name);
    for (size_t i = 0; i < options->sets.count; i++)
        text_list_addf(arguments, "--set=%s", options->sets.items[i]);
    if (options->console)
        text_list_add(arguments, "--console");
    if (options->quiet)
        text_list_add(arguments, "--quiet");
    if (options->verbose)
        text_list_add(arguments, "--verbose");
    if (options->timing)
        text_list_add(arguments, "--timing");
    if (options->exit_status)
        text_list_add(arguments, "--exit-code=status");
}

/* Everything between fork and exec. A session of its own: Ctrl-C reaches the parent alone. */
static _Noreturn void run_become(char *const *arguments, int lines_fd, pid_t parent)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    /* Out of the way of the numbers that are handed out. */
    null = fcntl(null, F_DUPFD_CLOEXEC, BATCH_MEMBER_FD + 1);
    lines_fd = fcntl(lines_fd, F_DUPFD_CLOEXEC, BATCH_MEMBER_FD + 1);
    sigemptyset(&none);
    setsid();
    /* When the parent is killed its runs are cancelled, and still leave results. */
    if (null >= 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
        dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 &&
        dup2(lines_fd, BATCH_MEMBER_FD) >= 0 &&
        close_range(BATCH_MEMBER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execv("/proc/self/exe", arguments);
    dprintf(lines_fd, "cannot start vmrun: %s\n", strerror(errno));
    _exit(VERDICT_EXIT_VMRUN);
}

static int run_start_process(struct batch_run *run, struct err *err)
{
    struct text_list arguments = {0};
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, "cannot create a pipe");
    AUTO_FD int write_end = ends[1];
    run->lines_fd = ends[0];
    if (fd_set_nonblocking(run->lines_fd, err) < 0)
        return -1;
    run_arguments(run, &arguments);
    if (arguments.failed) {
        text_list_free(&arguments);
        return err_set(err, "cannot start vmrun: out of memory");
    }
    run->pid = fork();
    if (run->pid == 0)
        run_become(arguments.items, write_end, parent);
    text_list_free(&arguments);
    if (run->pid < 0) {
        run->pid = 0;
        return err_sys(err, "cannot start vmrun: fork");
    }
    run->pid_fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
    if (run->pid_fd < 0)
        return err_sys(err, "cannot watch vmrun: pidfd_open");
    if (loop_add(&run->batch->loop, &run->lines, run->lines_fd, EPOLLIN, err) < 0)
        return -1;
    return loop_add(&run->batch->loop, &run->ended, run->pid_fd, EPOLLIN, err);
}

static void run_start_one(struct batch_run *run)
{
    struct loop *loop = &run->batch->loop;
    struct err err = ERR_INIT;

    run->state = BATCH_RUNNING;
    if (run_start_process(run, &err) == 0)
        return;
    if (run->pid > 0) {
        kill(run->pid, SIGKILL);
        waitpid(run->pid, NULL, 0);
        run->pid = 0;
    }
    loop_remove(loop, &run->lines);
    fd_close(&run->pid_fd);
    fd_close(&run->lines_fd);
    run->state = BATCH_FAILED;
    run->code = VERDICT_EXIT_VMRUN;
    batch_say(run->batch, "%s: %s", run->name, err.text);
}

static uint64_t resident_bytes(const struct batch_run *run)
{
    return run_resident_bytes(run->pid);
}

/* Memory that another run could have; what cannot be read does not hold up anything. */
static uint64_t batch_left_now(const struct batch *batch)
{
    struct host_memory memory;
    struct err err = ERR_INIT;

    if (host_memory_read("", &memory, &err) < 0)
        return UINT64_MAX;
    return batch_left_bytes(batch, memory.available_bytes, resident_bytes);
}

/* A job is free, but no run that waits fits: say so once for each. */
static void batch_tell_waiting(struct batch *batch, uint64_t left_bytes)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_run *run = &batch->runs[i];

        if (run->state != BATCH_WAITING || run->told_waits)
            continue;
        run->told_waits = true;
        if (!batch->options->quiet)
            batch_say(batch, "%s: waits for memory: it needs %llu MiB, %llu MiB are left",
                run->name, (unsigned long long)(run->need_bytes / MIB),
                (unsigned long long)(left_bytes / MIB));
    }
}

static void batch_start_more(struct batch *batch)
{
    uint64_t left_bytes = 0;
    ssize_t next;

    loop_timer_clear(&batch->loop, &batch->tick);
    while (
        batch_count(batch, BATCH_WAITING) > 0 && batch_count(batch, BATCH_RUNNING) < batch->jobs) {
        left_bytes = batch_left_now(batch);
        next = batch_pick(batch, left_bytes);
        if (next < 0) {
            batch_tell_waiting(batch, left_bytes);
            loop_timer_set(&batch->loop, &batch->tick, clock_mono_ns() + TICK_NS);
            break;
        }
        run_start_one(&batch->runs[next]);
    }
    batch_show_progress(batch);
    if (batch_count(batch, BATCH_WAITING) + batch_count(batch, BATCH_RUNNING) == 0)
        loop_stop(&batch->loop);
}

static void tick(void *context)
{
    batch_start_more(context);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* The first cancels, the second makes each run kill its machine, the third kills the runs. */
static void signal_ready(void *context, uint32_t events)
{
    struct batch *batch = context;
    struct signalfd_siginfo info;
    int number;

    (void)events;
    if (read(batch->signal_fd, &info, sizeof(info)) != sizeof(info))
        return;
    number = (int)info.ssi_signo;
    if (++batch->signal_count == 1) {
        batch_cancel(batch, number);
        if (!batch->options->quiet)
            batch_say(batch, "cancelling: running tasks are told to end, no other starts; a second "
                             "signal ends them at once");
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->runs[i].pid > 0)
            kill(batch->runs[i].pid, batch->signal_count > 2 ? SIGKILL : number);
    }
    batch_start_more(batch); /* ends the loop when nothing runs */
}

static int listen_to_signals(struct batch *batch, struct err *err)
{
    sigset_t set = supervise_signals();

    supervise_block_signals();
    batch->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (batch->signal_fd < 0)
        return err_sys(err, "cannot listen to signals");
    return loop_add(&batch->loop, &batch->signals, batch->signal_fd, EPOLLIN, err);
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* What can be known before anything starts. */
static void run_prepare(
    struct batch_run *run, const struct host_memory *memory, struct text_list *errors)
{
    const struct options *options = run->batch->options;
    struct config config;

    run->pid_fd = run->lines_fd = -1;
    run->ended = (struct loop_source){.fd = -1, .ready = run_ended, .context = run};
    run->lines = (struct loop_source){.fd = -1, .ready = lines_ready, .context = run};
    if (config_load(&config, run->config, &options->sets, errors) == 0) {
        run->name = text_clone(config.name, strlen(config.name));
        errors->failed |= !run->name;
        run->need_bytes = run_memory_bytes(&config);
        if (config.stdin_kind == STDIN_INHERIT)
            text_list_addf(errors,
                "%s: [task] stdin: several tasks cannot inherit one stdin; use "
                "none or file:PATH",
                run->config);
        if (run->need_bytes > memory->total_bytes)
            text_list_addf(errors,
                "%s: [machine] memory: the run needs %llu MiB, but all there is are %llu MiB",
                run->config, (unsigned long long)(run->need_bytes / MIB),
                (unsigned long long)(memory->total_bytes / MIB));
    }
    config_free(&config);
}

static void batch_check_names(const struct batch *batch, struct text_list *errors)
{
    for (size_t i = 0; batch->options->output && i < batch->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(batch->runs[i].name, batch->runs[j].name) == 0)
                text_list_addf(errors,
                    "%s: [task] name: %s is the name of %s too; with --output each needs its own",
                    batch->runs[i].config, batch->runs[i].name, batch->runs[j].config);
        }
    }
}

static void batch_tell_end(const struct batch *batch)
{
    char counts[BATCH_PROGRESS_BYTES], line[BATCH_PROGRESS_BYTES + 128];

    if (batch->progress)
        batch->progress("");
    if (batch->options->quiet)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_run *run = &batch->runs[i];

        if (run->state == BATCH_FAILED)
            snprintf(line, sizeof(line), "failed: %s: exit code %d", run->name, run->code);
        else if (run->state == BATCH_NOT_STARTED)
            snprintf(line, sizeof(line), "not started: %s", run->name);
        else
            continue;
        batch->say(line);
    }
    batch_progress_text(batch, counts);
    snprintf(line, sizeof(line), "%zu runs: %s, in %.1f s", batch->count, counts,
        (double)(clock_mono_ns() - batch->began_ns) / (double)NS_PER_S);
    batch->say(line);
}

static int batch_loop(struct batch *batch, struct err *err)
{
    int failed;

    if (loop_init(&batch->loop, err) < 0)
        return -1;
    failed = listen_to_signals(batch, err);
    if (failed == 0) {
        batch_start_more(batch);
        /* When none could be started, nothing would ever end the loop. */
        if (batch_count(batch, BATCH_WAITING) + batch_count(batch, BATCH_RUNNING) > 0)
            failed = loop_run(&batch->loop, err);
    }
    loop_fini(&batch->loop);
    fd_close(&batch->signal_fd);
    return failed;
}

/* Each run makes a cgroup of its own, if it can, once this process is out of their way. */
static void batch_share_cgroup(struct jail_cgroup *cgroup)
{
    char id[32];
    struct err why = ERR_INIT;

    snprintf(id, sizeof(id), "batch-%d", (int)getpid());
    if (jail_cgroup_find(cgroup, id, &why) == 0)
        (void)jail_cgroup_share(cgroup, &why); /* the results of the runs say why not */
}

int batch_main(const struct options *options, struct text_list *errors,
    void (*say)(const char *text), void (*progress)(const char *text))
{
    struct batch batch = {.options = options,
        .runs = calloc(options->configs.count, sizeof(*batch.runs)),
        .count = options->configs.count,
        .jobs = options->jobs ? options->jobs : (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .began_ns = clock_mono_ns(),
        .say = say,
        .progress = options->quiet ? NULL : progress,
        .signal_fd = -1};
    struct host_memory memory = {.total_bytes = UINT64_MAX};
    struct jail_cgroup cgroup = JAIL_CGROUP_INIT;
    struct err err = ERR_INIT;
    int code = VERDICT_EXIT_VMRUN;

    if (!batch.runs) {
        errors->failed = true;
        return code;
    }
    batch.signals = (struct loop_source){.fd = -1, .ready = signal_ready, .context = &batch};
    batch.tick = (struct loop_timer){.expired = tick, .context = &batch};
    host_memory_read("", &memory, &err);
    for (size_t i = 0; i < batch.count; i++) {
        batch.runs[i].batch = &batch;
        batch.runs[i].config = options->configs.items[i];
        run_prepare(&batch.runs[i], &memory, errors);
    }
    if (errors->count == 0 && !errors->failed)
        batch_check_names(&batch, errors);
    if (errors->count == 0 && !errors->failed) {
        err = (struct err)ERR_INIT;
        batch_share_cgroup(&cgroup);
        if (batch_loop(&batch, &err) < 0) {
            text_list_add(errors, err.text);
        } else {
            batch_tell_end(&batch);
            code = batch_exit_code(&batch);
        }
        jail_cgroup_free(&cgroup);
    }
    for (size_t i = 0; i < batch.count; i++)
        free(batch.runs[i].name);
    free(batch.runs);
    return code;
}
