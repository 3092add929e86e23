/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: vmrun, the supervisor: the only process of a run that has the user's rights. This is the
 * only file that prints errors. A run, in order: options.c, config.c, plan.c, disks.c, supervise.c,
 * verdict.c, result.c; task.c calls them.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/fd.h"
#include "supervisor/batch.h"
#include "supervisor/doctor.h"
#include "supervisor/error_json.h"
#include "supervisor/gc.h"
#include "supervisor/image_verify.h"
#include "supervisor/json_memory.h"
#include "supervisor/options.h"
#include "supervisor/task.h"
#include "supervisor/version.h"

/* How long a reader of stderr that stands still is waited for, with each line. */
enum { SAY_WAIT_MS = 500 };

enum { ERRORS_SHOWN_MAX = 30 };

/*
 * The line is dropped rather than the run held up: it has deadlines to keep. A pipe that can be
 * written to takes PIPE_BUF bytes without waiting, so that no line is longer. What a task file or a
 * path has in it may steer no terminal.
 */
static void say(const char *text)
{
    static const char prefix[] = "vmrun: ";
    struct pollfd wait = {.fd = STDERR_FILENO, .events = POLLOUT};
    char line[PIPE_BUF];
    size_t used = sizeof(prefix) - 1;

    if (poll(&wait, 1, SAY_WAIT_MS) == 0)
        return;
    memcpy(line, prefix, used);
    escape_line(line + used, sizeof(line) - used, text);
    used += strlen(line + used);
    line[used] = '\n'; /* in the place of the terminator */
    (void)!write(STDERR_FILENO, line, used + 1);
}

/* One run of a batch: our own lines go to the parent. */
static void say_to_parent(const char *text)
{
    dprintf(BATCH_MEMBER_FD, "%s\n", text);
}

/* A line that stays the last one of a terminal. */
static void show_progress(const char *text)
{
    fprintf(stderr, "\r\033[K%s%s", text[0] ? "vmrun: " : "", text);
    fflush(stderr);
}

/* A file that is no task file has an error in every line. */
static void say_errors(const struct text_list *errors, void (*tell)(const char *text))
{
    char rest[64];

    for (size_t i = 0; i < errors->count && i < ERRORS_SHOWN_MAX; i++)
        tell(errors->items[i]);
    if (errors->failed)
        tell("out of memory");
    if (errors->count <= ERRORS_SHOWN_MAX)
        return;
    snprintf(rest, sizeof(rest), "%zu more errors are not shown", errors->count - ERRORS_SHOWN_MAX);
    tell(rest);
}

static void print_errors(const struct text_list *errors, const char *config, int code, bool events)
{
    AUTO_JSON_TEXT char *text = NULL;

    json_memory_use();
    text = error_json(errors, config, code, events);
    if (text)
        puts(text);
}

static void say_nothing(const char *text)
{
    (void)text;
}

static int run_gc(const struct options *options, struct text_list *errors)
{
    struct gc_request request = {.dry_run = options->dry_run,
        .verbose = options->verbose,
        .files_max = GC_FILES_MAX,
        .say = options->quiet ? say_nothing : say};

    return gc_run(&request, errors);
}

static int run_command(const struct options *options, uint64_t began_ns, struct text_list *errors)
{
    switch (options->command) {
    case COMMAND_HELP:
        fputs(options_help, stdout);
        return 0;
    case COMMAND_VERSION:
        puts("vmrun " VMRUN_VERSION);
        return 0;
    case COMMAND_DOCTOR:
        return doctor_run(options->json, options->quiet, stdout, errors);
    case COMMAND_GC:
        return run_gc(options, errors);
    case COMMAND_IMAGE_VERIFY:
        return image_verify(options->image, options->json, stdout, errors);
    case COMMAND_RUN:
        break;
    }
    if (options->configs.count > 1)
        return batch_main(options, errors, say, isatty(STDERR_FILENO) ? show_progress : NULL);
    return task_run(options, began_ns, errors, options->member ? say_to_parent : say);
}

/* It would be told nothing, and what is opened first would be written to in its place. */
static int check_member_fd(struct options *options, struct err *err)
{
    if (!options->member || fcntl(BATCH_MEMBER_FD, F_GETFD) >= 0)
        return 0;
    options->member = false;
    return err_set(err, "--batch-member: it is between vmrun and itself, and needs an open fd %d",
        BATCH_MEMBER_FD);
}

/*
 * Whoever started us may have closed some of 0, 1 and 2: a file of the run that got such a number
 * would be taken for our stdin, written to as our stdout, and lost to the children.
 */
static int fill_standard_fds(struct err *err)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return err_sys(err, "cannot open /dev/null");
    fd_close(&fd);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t began_ns = clock_mono_ns();
    struct text_list errors = {0};
    struct options options = {0};
    struct err err = ERR_INIT;
    int code;

    signal(SIGCHLD, SIG_DFL); /* ignored, as a caller may leave it, children have no status */
    if (fill_standard_fds(&err) < 0 || options_parse(&options, argc, argv, &err) < 0 ||
        check_member_fd(&options, &err) < 0) {
        text_list_add(&errors, err.text);
        code = task_exit_code(&options, true);
    } else {
        code = run_command(&options, began_ns, &errors);
    }
    say_errors(&errors, options.member ? say_to_parent : say);
    if ((options.json || options.events) && (errors.count > 0 || errors.failed))
        print_errors(&errors, options.config, code, options.events);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("stdout could not be written");
        code = code ? code : task_exit_code(&options, false);
    }
    text_list_free(&errors);
    options_free(&options);
    return code;
}
