/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lab's host side, started by tools/lab: runs QEMU, carries the command's streams to the
 * caller's, and says in words and by its exit status how it ended. Arguments come from tools/lab
 * only:
 *
 *   lab-host [--console] [--stdin] [--log FILE] [--saved FILE] TIMEOUT SILENCE JOB...
 *            --qemu QEMU-ARGV... [--cold QEMU-ARGV...]
 *   lab-host --save FILE TIMEOUT SILENCE --qemu QEMU-ARGV...
 *
 * A machine that stalls or panics before the command exists has done nothing yet, and is started
 * once more; after a saved machine (--saved), that is one from nothing (--cold). --save makes a
 * saved machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    if (number != SIGALRM)
        stop_signal = number;
}

/* Without SA_RESTART: a write to a caller that does not read must come back for the limits. */
static void signals_set(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    const int numbers[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    const struct itimerval second = {.it_interval = {1, 0}, .it_value = {1, 0}};
    setitimer(ITIMER_REAL, &second, NULL);
}

static bool options_parse(struct options *options, char **argv)
{
    char **at = argv + 1;
    for (; *at && !strncmp(*at, "--", 2); at++) {
        if (!strcmp(*at, "--console"))
            options->console = true;
        else if (!strcmp(*at, "--stdin"))
            options->use_stdin = true;
        else if (!strcmp(*at, "--log") && at[1])
            options->log = *++at;
        else if (!strcmp(*at, "--saved") && at[1])
            options->saved = *++at;
        else if (!strcmp(*at, "--save") && at[1])
            options->save = *++at;
        else
            return false;
    }
    if (!at[0] || !at[1])
        return false;
    options->timeout_s = atoi(at[0]);
    options->silence_s = atoi(at[1]);
    options->job = at + 2;
    for (at = options->job; *at && strcmp(*at, "--qemu"); at++)
        continue;
    if (!*at || options->timeout_s <= 0 || options->silence_s <= 0)
        return false;
    *at = NULL;
    options->qemu = options->cold = at + 1;
    for (at++; *at; at++) {
        if (!strcmp(*at, "--cold")) {
            *at = NULL;
            options->cold = at + 1;
            break;
        }
    }
    return options->qemu[0] != NULL && options->cold[0] != NULL;
}

static void text_show(const char *title, const struct tail *text)
{
    if (text->length == 0) {
        fprintf(stderr, "lab: %s: nothing\n", title);
        return;
    }
    fprintf(stderr, "lab: %s:\n", title);
    bool line_start = true;
    for (size_t i = 0; i < text->length; i++) {
        if (text->bytes[i] == '\r')
            continue;
        if (text->bytes[i] == '\033') { /* QEMU's monitor edits its line: ESC [ and a letter */
            i += 2;
            continue;
        }
        if (line_start)
            fputs("lab: | ", stderr);
        fputc(text->bytes[i], stderr);
        line_start = text->bytes[i] == '\n';
    }
    if (!line_start)
        fputc('\n', stderr);
}

static void beat_show(const struct session *session)
{
    fprintf(stderr, "lab: last sign of life of the outer machine %.1f s ago, load average %s\n",
        (double)(now_ms() - session->heard_ms) / 1000,
        session->beat[0] ? session->beat : "not known");
}

static bool outer_panicked(const struct session *session)
{
    return memmem(session->tail.bytes, session->tail.length, "Kernel panic", 12) != NULL;
}

static void qemu_end_show(const struct session *session, int status)
{
    if (outer_panicked(session))
        fprintf(stderr, "lab: the outer kernel panicked");
    else if (WIFSIGNALED(status))
        fprintf(stderr, "lab: QEMU was killed by signal %d", WTERMSIG(status));
    else
        fprintf(stderr, "lab: QEMU ended with status %d and no exit mark", WEXITSTATUS(status));
    fprintf(stderr, " %s the command was started\n", session->started ? "after" : "before");
}

/* Says how a run ended that did not end by the command's exit; the lab's exit status for it. */
static int failure_show(const struct session *session, int qemu_status)
{
    const struct options *options = session->options;
    switch (session->ending) {
    case ENDING_SIGNAL:
        return 128 + session->status;
    case ENDING_OUTPUT:
        if (session->status == EPIPE)
            return 128 + SIGPIPE; /* as the command itself would have ended, and as quietly */
        fprintf(stderr, "lab: write to the caller's output: %s\n", strerror(session->status));
        return STATUS_SETUP;
    case ENDING_FAILED:
        text_show("the outer machine failed", &session->report);
        break;
    case ENDING_SILENT:
        fprintf(stderr,
            "lab: the outer machine stalled %s the command was started: "
            "no sign of life for %d s\n",
            session->started ? "after" : "before", options->silence_s);
        break;
    case ENDING_TIMEOUT:
        fprintf(stderr, "lab: time limit of %d s reached (--timeout); ", options->timeout_s);
        if (!session->started)
            fprintf(stderr, "the command was not started yet\n");
        else if (session->answered)
            fprintf(stderr, "the outer machine is alive: the command hangs or needs longer\n");
        else
            fprintf(stderr, "the outer machine does not answer\n");
        beat_show(session);
        text_show("processes in the outer machine", &session->report);
        text_show("end of the outer console", &session->tail);
        return session->answered ? STATUS_TIMEOUT : STATUS_OUTER;
    default:
        qemu_end_show(session, qemu_status);
        break;
    }
    if (session->ending == ENDING_SILENT) {
        beat_show(session);
        text_show("QEMU's monitor", &session->report);
    }
    text_show("end of the outer console", &session->tail);
    return STATUS_OUTER;
}

static bool worth_retrying(const struct session *session)
{
    if (session->started)
        return false;
    return session->ending == ENDING_SILENT ||
           (session->ending == ENDING_QEMU && (outer_panicked(session) || session->options->saved));
}

static int save_finish(const struct session *session, int qemu_status)
{
    if (session->ending == ENDING_QEMU && WIFEXITED(qemu_status) && WEXITSTATUS(qemu_status) == 0 &&
        memmem(session->report.bytes, session->report.length, "status: completed", 17))
        return 0;
    fprintf(stderr, "lab: the machine could not be saved\n");
    text_show("QEMU's monitor", &session->report);
    return failure_show(session, qemu_status);
}

/* A closed stdin, stdout or stderr would hand its number to one of our own files. */
static void stdio_fill(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < 3)
        continue;
    close(fd);
}

int main(int argc, char **argv)
{
    (void)argc;
    static struct options options;
    static struct session session;
    stdio_fill();
    if (!options_parse(&options, argv)) {
        fprintf(stderr, "lab: lab-host is started by tools/lab\n");
        return STATUS_SETUP;
    }
    signals_set();
    for (int attempt = 1;; attempt++) {
        if (session_run(&session, &options, attempt == 1 ? options.qemu : options.cold) < 0)
            return STATUS_SETUP;
        const int qemu_status = qemu_stop(&session);
        if (options.save)
            return save_finish(&session, qemu_status);
        if (session.ending == ENDING_EXIT)
            return session.status;
        const int status = failure_show(&session, qemu_status);
        if (attempt == 2 || !worth_retrying(&session))
            return status;
        if (options.saved)
            unlink(options.saved);
        fprintf(stderr, "lab: retrying once%s, as the command was not started\n",
            options.saved ? " from nothing" : "");
        options.saved = NULL;
    }
}
