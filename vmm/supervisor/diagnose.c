/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose.c: see diagnose.h. Texts of guest and children are escaped before they are shown. */
#include "supervisor/diagnose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "supervisor/text_list.h"

enum { SAID_BYTES = 512, CONSOLE_LINES_MAX = 12, ERRNO_MAX = 4095 };

/* What KVM reports when it cannot go on: include/uapi/linux/kvm.h, KVM_INTERNAL_ERROR_*. */
static const char *suberror_text(uint64_t suberror)
{
    static const char *const texts[] = {[1] = "an instruction could not be emulated",
        [2] = "simultaneous exceptions",
        [3] = "the event could not be delivered",
        [4] = "unexpected exit reason"};

    return suberror >= 1 && suberror <= 4 ? texts[suberror] : "unknown";
}

static void detail_of_exited(const struct outcome *outcome, char *text, size_t size)
{
    const char *why = strerror((int)outcome->exited.code);
    char said[SAID_BYTES];

    text_escape(said, sizeof(said), outcome->exited.text, strlen(outcome->exited.text));
    /* Most texts say it already, and some have no such cause. */
    if (said[0] && (outcome->exited.code == 0 || strstr(said, why)))
        snprintf(text, size, "%s", said);
    else
        snprintf(text, size, "%s%s%s", said, said[0] ? ": " : "", why);
}

static void detail_of_ended(const struct outcome *outcome, char *text, size_t size)
{
    const struct ipc_ended *ended = &outcome->ended;
    char said[SAID_BYTES];

    text_escape(said, sizeof(said), ended->text, strlen(ended->text));
    if (ended->cause == IPC_END_FAIL_ENTRY)
        snprintf(text, size, "hardware reason 0x%" PRIx64, ended->detail[0]);
    else if (ended->cause == IPC_END_INTERNAL)
        snprintf(text, size, "suberror %" PRIu64 ", %s", ended->detail[0],
            suberror_text(ended->detail[0]));
    else if (ended->cause == IPC_END_UNKNOWN_EXIT)
        snprintf(text, size, "exit reason %" PRIu64, ended->detail[0]);
    else if (ended->cause == IPC_END_FATAL && ended->detail[0] > 0 &&
             ended->detail[0] <= ERRNO_MAX && !strstr(said, strerror((int)ended->detail[0])))
        snprintf(text, size, "%s: %s", said, strerror((int)ended->detail[0]));
    else
        snprintf(text, size, "%s", said);
}

static void detail_of_monitor(const struct outcome *outcome, char *text, size_t size)
{
    if (outcome->host_text[0])
        snprintf(text, size, "%s", outcome->host_text);
    else if (outcome->cause == CAUSE_STOP_DEADLINE)
        snprintf(text, size, "it did not stop when it should");
    else
        snprintf(text, size, "%s", outcome->monitor_end);
}

static void detail_of_scribe(const struct outcome *outcome, char *text, size_t size)
{
    static const char *const names[] = {"stdout", "stderr", "console"};

    snprintf(text, size, "%s", outcome->host_text);
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (outcome->has_totals[i] && outcome->totals[i].error)
            snprintf(text, size, "%s: %s", names[i], strerror((int)outcome->totals[i].error));
    }
}

static void detail_of_artifacts(
    const struct outcome *outcome, const char *missing, char *text, size_t size)
{
    char said[SAID_BYTES];

    /* Names in it are escaped already, as a rule: once more would double each backslash. */
    escape_line(said, sizeof(said), outcome->extracted.text);
    if (outcome->has_extracted && outcome->extracted.status >= EXTRACT_REFUSED)
        snprintf(text, size, "%s", said);
    else if (outcome->extracted_due && !outcome->has_extracted)
        snprintf(text, size, "%s", outcome->extractor_end);
    else if (missing)
        text_escape(text, size, missing, strlen(missing));
}

/* What is particular to this run; empty when the rule's text says it all. */
static void verdict_detail(const struct verdict *verdict, const struct outcome *outcome,
    const char *missing, char *text, size_t size)
{
    switch (verdict->event) {
    case EVENT_NONZERO:
        snprintf(text, size, "exit code %d", verdict->exit_code);
        break;
    case EVENT_SIGNAL:
        snprintf(text, size, "signal %d, %s", verdict->signal, strsignal(verdict->signal));
        break;
    case EVENT_CANCELLED:
        snprintf(text, size, "%s", strsignal(outcome->cancel_signal));
        break;
    case EVENT_NOT_EXECUTABLE:
    case EVENT_NOT_FOUND:
    case EVENT_SETUP_FAILED:
        detail_of_exited(outcome, text, size);
        break;
    case EVENT_MONITOR_FAILED:
        detail_of_monitor(outcome, text, size);
        break;
    case EVENT_SCRIBE_FAILED:
        detail_of_scribe(outcome, text, size);
        break;
    case EVENT_ARTIFACT_MISSING:
    case EVENT_ARTIFACTS_REFUSED:
    case EVENT_EXTRACTOR_FAILED:
        detail_of_artifacts(outcome, missing, text, size);
        break;
    default:
        if (outcome->cause == CAUSE_HOST)
            snprintf(text, size, "%s", outcome->host_text);
        else if (outcome->has_ended && outcome->ended.cause != IPC_END_HALTED)
            detail_of_ended(outcome, text, size);
        break;
    }
}

/* Which files it was about, and who chose them. */
static void detail_of_kernel(
    const struct config *config, const struct outcome *outcome, char *text, size_t size)
{
    const char *kernel = config->kernel ? config->kernel : "the one that came with vmrun";
    char said[SAID_BYTES];

    text_escape(said, sizeof(said), outcome->ended.text, strlen(outcome->ended.text));
    snprintf(text, size, "%s: [machine] kernel: %s%s%s: %s", config->path, kernel,
        config->initramfs ? ", initramfs: " : "", config->initramfs ? config->initramfs : "", said);
}

void diagnose(struct verdict *verdict, const struct config *config, const struct outcome *outcome,
    const char *missing)
{
    const char *general = verdict_rules[verdict->event].text;
    char detail[ERR_TEXT_BYTES] = "";

    if (verdict->event == EVENT_KERNEL)
        detail_of_kernel(config, outcome, detail, sizeof(detail));
    else
        verdict_detail(verdict, outcome, missing, detail, sizeof(detail));
    snprintf(verdict->reason, sizeof(verdict->reason), "%s%s%s%s", general, detail[0] ? " (" : "",
        detail, detail[0] ? ")" : "");
}

/* The last lines of the console; the bytes are the guest's. */
static void console_lines(const struct ipc_ended *ended, struct text_list *lines)
{
    const uint8_t *end = ended->console_tail + ended->console_bytes;
    const uint8_t *at = end;

    for (int count = 0; at > ended->console_tail && count < CONSOLE_LINES_MAX; count++) {
        at--;
        while (at > ended->console_tail && at[-1] != '\n')
            at--;
    }
    while (at < end) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        const uint8_t *stop = newline ? newline : end;
        char shown[256];

        if (stop > at && stop[-1] == '\r')
            text_escape(shown, sizeof(shown), at, (size_t)(stop - at) - 1);
        else
            text_escape(shown, sizeof(shown), at, (size_t)(stop - at));
        text_list_addf(lines, "  console: %s", shown);
        at = newline ? newline + 1 : end;
    }
}

void diagnose_machine(
    const struct verdict *verdict, const struct outcome *outcome, struct text_list *lines)
{
    const struct ipc_ended *ended = &outcome->ended;
    char said[SAID_BYTES];
    bool guest_fault =
        strcmp(verdict->status, "guest_failed") == 0 || verdict->event == EVENT_LIMIT_BOOT;

    if (!outcome->has_ended || !guest_fault)
        return;
    if (ended->rip || ended->rsp || ended->cr3)
        text_list_addf(lines,
            "  registers: rip %016" PRIx64 " sp %016" PRIx64 " page table %016" PRIx64
            " flags %08" PRIx64,
            ended->rip, ended->rsp, ended->cr3, ended->rflags);
    if (ended->cause == IPC_END_HALTED && ended->text[0]) {
        text_escape(said, sizeof(said), ended->text, strlen(ended->text));
        text_list_addf(lines, "  devices: %s", said);
    }
    console_lines(ended, lines);
    if (ended->console_bytes == 0)
        text_list_add(lines, "  run it again with --console to see what the guest kernel says");
}
