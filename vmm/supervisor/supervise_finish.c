/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_finish.c: once the monitor is gone: the scribe closes the logs, the extractor reads the
 * export disk (supervisor). Input: records of both, which may have been taken over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "supervisor/child_jail.h"
#include "supervisor/jail_limits.h"
#include "supervisor/artifacts.h"
#include "supervisor/export_disk.h"
#include "supervisor/manifest.h"
#include "supervisor/output_dir.h"
#include "supervisor/own_tree.h"
#include "supervisor/run_jail.h"
#include "supervisor/supervise_internal.h"

/* ---- scribe ---------------------------------------------------------------------------------- */

static void logs_closed(struct supervision *run);

static bool scribe_is_finished(const struct supervision *run)
{
    return run->scribe_end.fd < 0 && live_input_ended(&run->live[0]) &&
           live_input_ended(&run->live[1]);
}

static bool salvage_begun(struct supervision *run)
{
    struct outcome_salvage *salvage = &run->outcome->salvage;
    struct err err = ERR_INIT;

    salvage->tried = true;
    if (run_salvage_start(run, &err) == 0)
        return true;
    memcpy(salvage->text, err.text, sizeof(err.text));
    child_fini(&run->salvager);
    return false;
}

void run_monitor_gone(struct supervision *run)
{
    if (!run_salvage_due(run) || !salvage_begun(run))
        run_salvage_over(run);
}

/* No machine is left that could have a console. */
void run_salvage_over(struct supervision *run)
{
    fd_close(&run->console_fd);
    run_enter(run, STATE_SCRIBE);
    if (scribe_is_finished(run))
        logs_closed(run);
}

void run_live_changed(void *context)
{
    struct supervision *run = context;

    if (run->state == STATE_DONE && live_drained(&run->live[0]) && live_drained(&run->live[1]))
        loop_stop(&run->loop);
    else if (run->state == STATE_SCRIBE && scribe_is_finished(run))
        logs_closed(run);
}

/* The scribe made a line that it must not make: it was taken over. */
void run_events_broken(void *context)
{
    struct supervision *run = context;

    if (run->outcome->cause == CAUSE_NONE)
        text_copy(run->outcome->host_text, sizeof(run->outcome->host_text),
            "vmrun-scribe broke the rule for lines of events");
    child_kill(&run->scribe);
    run_end(run, CAUSE_SCRIBE_ENDED);
}

static int take_totals(struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;
    struct ipc_stream_totals totals;

    if (ipc_get_stream(record, &totals, err) < 0)
        return -1;
    if (outcome->has_totals[totals.stream])
        return err_set(err, "it reported stream %u twice", totals.stream);
    outcome->totals[totals.stream] = totals;
    outcome->has_totals[totals.stream] = true;
    return 0;
}

/* Totals that do not come make the run infra; see verdict.c. Each comes once, so there is an end.
 */
void run_scribe_ready(void *context, uint32_t events)
{
    struct supervision *run = context;
    struct ipc_record record;

    (void)events;
    while (run->scribe_ipc.fd >= 0) {
        struct err err = ERR_INIT;
        int count = ipc_receive(run->scribe.ipc, &record, &err);

        if (count < 0 && err.errnum == EAGAIN)
            return;
        if (count > 0 && take_totals(run, &record, &err) == 0)
            continue;
        loop_remove(&run->loop, &run->scribe_ipc);
        if (count != 0 && run->outcome->host_text[0] == '\0')
            memcpy(run->outcome->host_text, err.text, sizeof(err.text));
    }
}

/* It saw the end of every stream: the monitor closed them, and its own end is about to be seen. */
static bool scribe_told_all(const struct supervision *run)
{
    const struct outcome *outcome = run->outcome;

    return outcome->has_totals[STREAM_STDOUT] && outcome->has_totals[STREAM_STDERR];
}

void run_scribe_ended(void *context, uint32_t events)
{
    struct supervision *run = context;

    run_scribe_ready(run, events);
    loop_remove(&run->loop, &run->scribe_ipc);
    loop_remove(&run->loop, &run->scribe_end);
    loop_remove(&run->loop, &run->scribe_jail.source);
    child_reap(&run->scribe);
    if (!scribe_told_all(run) && run->outcome->cause == CAUSE_NONE &&
        run->outcome->host_text[0] == '\0')
        child_end_text(&run->scribe, run->outcome->host_text, sizeof(run->outcome->host_text));
    if (run->state < STATE_SCRIBE && !scribe_told_all(run)) {
        /* The task's output has nowhere to go. */
        run_end(run, CAUSE_SCRIBE_ENDED);
    } else if (run->state == STATE_SCRIBE && scribe_is_finished(run)) {
        logs_closed(run);
    }
}

void run_scribe_overdue(struct supervision *run)
{
    if (run->outcome->cause == CAUSE_NONE) {
        run->outcome->cause = CAUSE_SCRIBE_ENDED;
        text_copy(run->outcome->host_text, sizeof(run->outcome->host_text),
            "vmrun-scribe did not finish in time");
    }
    child_kill(&run->scribe);
    /* Its end is not enough: what it may have started could still hold the pipes. */
    for (int i = 0; i < 2; i++)
        live_end_input(&run->live[i]);
    if (run->scribe_end.fd < 0)
        logs_closed(run);
}

/* Not by the scribe: it would need a power more, and its reader would wait. */
void run_logs_finish(struct supervision *run)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct ipc_stream_totals *totals = &run->outcome->totals[i];

        if (run->log_fds[i] >= 0 && fsync(run->log_fds[i]) < 0 && totals->error == 0)
            totals->error = (uint32_t)errno;
        fd_close(&run->log_fds[i]);
    }
}

/* ---- extractor ------------------------------------------------------------------------------- */

/* The manifest first: a crash in between leaves one without artifacts, never the reverse. */
static int publish_artifacts(struct supervision *run, struct err *err)
{
    bool bundle = run->plan->config->artifacts_bundle;

    if (manifest_write(run->output_fd, run->plan, run->outcome, err) < 0)
        return -1;
    if (output_publish_artifacts(
            run->output_fd, run->plan->run_id, run->artifacts_fd, bundle, err) == 0)
        return 0;
    unlinkat(run->output_fd, MANIFEST_NAME, 0);
    return -1;
}

/* What there is instead of artifacts: nothing, and the reason. */
static void discard_artifacts(struct supervision *run)
{
    const struct config *config = run->plan->config;
    struct err err = ERR_INIT;

    if (output_discard_artifacts(
            run->output_fd, run->plan->run_id, config->artifacts_bundle, &err) < 0)
        run_fail(run, &err);
    err = (struct err)ERR_INIT;
    if (config->collect.count > 0 &&
        manifest_write(run->output_fd, run->plan, run->outcome, &err) < 0)
        run_fail(run, &err);
}

/* Of a jail of root's they are another user's. */
static int own_artifacts(struct supervision *run, struct err *err)
{
    const struct jail_ground *ground = run->ground;

    if (ground && ground->kind == JAIL_ROOT)
        return own_tree(run->artifacts_fd, ground->uid, geteuid(), getegid(), err);
    return own_tree_check(run->artifacts_fd, err);
}

static void finish_artifacts(struct supervision *run)
{
    struct outcome *outcome = run->outcome;
    struct err err = ERR_INIT;
    bool good = outcome->has_extracted;

    if (good) {
        artifacts_judge(run->plan->config, outcome);
        good = outcome->extracted.status <= EXTRACT_PARTIAL;
    }
    if (good && own_artifacts(run, &err) < 0) {
        good = outcome->has_extracted = false; /* the extractor did what it must not */
        text_copy(outcome->extractor_end, sizeof(outcome->extractor_end), err.text);
        err = (struct err)ERR_INIT;
    }
    if (good && publish_artifacts(run, &err) < 0) {
        good = false;
        outcome->extracted.status = EXTRACT_FAILED;
        text_copy(outcome->extracted.text, sizeof(outcome->extracted.text), err.text);
        run_fail(run, &err);
    }
    if (!good)
        discard_artifacts(run);
    run_enter(run, STATE_DONE);
}

static int take_extractor_record(
    struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome *outcome = run->outcome;
    /* As many skipped ones are listed as there may be others; the extractor counts the rest. */
    uint64_t limit = 2 * run->plan->config->artifacts_files;
    struct ipc_entry entry;

    if (outcome->has_extracted)
        return err_set(err, "the extractor went on after its last record");
    if (record->kind == IPC_EXTRACTED) {
        if (ipc_get_extracted(record, &outcome->extracted, err) < 0)
            return -1;
        outcome->has_extracted = true;
        return 0;
    }
    if (outcome->artifact_count == limit)
        return err_set(err, "the extractor reported more entries than it may");
    if (ipc_get_entry(record, &entry, err) < 0)
        return -1;
    return outcome_add_artifact(outcome, &entry, err);
}

/* As take_records() in supervise.c: a bounded number; true when there may be more. */
static bool take_entries(struct supervision *run)
{
    struct ipc_record record;

    for (int i = 0; i < RUN_RECORDS_MAX && run->extractor_ipc.fd >= 0; i++) {
        struct err err = ERR_INIT;
        int count = ipc_receive(run->extractor.ipc, &record, &err);

        if (count < 0 && err.errnum == EAGAIN)
            return false;
        if (count > 0 && take_extractor_record(run, &record, &err) == 0)
            continue;
        loop_remove(&run->loop, &run->extractor_ipc);
        if (count == 0)
            return false;
        run->outcome->has_extracted = false;
        text_copy(run->outcome->extractor_end, sizeof(run->outcome->extractor_end), err.text);
        child_kill(&run->extractor);
    }
    return run->extractor_ipc.fd >= 0;
}

static void extractor_ready(void *context, uint32_t events)
{
    (void)events;
    (void)take_entries(context); /* what is left makes the fd ready again */
}

static void extractor_ended(void *context, uint32_t events)
{
    struct supervision *run = context;
    struct outcome *outcome = run->outcome;

    (void)events;
    for (int turn = 0; turn < RUN_LAST_TURNS_MAX && take_entries(run); turn++)
        continue;
    loop_remove(&run->loop, &run->extractor_ipc);
    loop_remove(&run->loop, &run->extractor_end);
    loop_remove(&run->loop, &run->extractor_jail.source);
    child_reap(&run->extractor);
    if (outcome->extractor_end[0] == '\0')
        child_end_text(&run->extractor, outcome->extractor_end, sizeof(outcome->extractor_end));
    finish_artifacts(run);
}

void run_extractor_overdue(struct supervision *run)
{
    text_copy(run->outcome->extractor_end, sizeof(run->outcome->extractor_end),
        "vmrun-extractor took too long");
    child_kill(&run->extractor);
}

static int spawn_extractor(struct supervision *run, struct err *err)
{
    const struct config *config = run->plan->config;
    struct ipc_extract setup = {.max_total_bytes = config->artifacts_total_bytes,
        .max_file_bytes = config->artifacts_file_bytes,
        .max_files = config->artifacts_files,
        .max_depth = (uint32_t)config->artifacts_depth,
        .types = config->artifacts_types,
        .bundle = config->artifacts_bundle};
    struct disks *disks = run->outcome->salvage.exported ? &run->salvage_disks : run->disks;
    struct child_fd fds[] = {{-1, EXTRACTOR_FD_DISK}, {-1, EXTRACTOR_FD_OUT}};
    struct jail_order order = {0};

    if (export_disk_seal(disks, err) < 0)
        return -1;
    run->artifacts_fd = output_begin_artifacts(run->output_fd, run->plan->run_id, err);
    fds[0].fd = disks->export_readonly;
    fds[1].fd = run->artifacts_fd;
    if (run->artifacts_fd >= 0 && run->ground && run->ground->kind == JAIL_ROOT &&
        fchown(run->artifacts_fd, run->ground->uid, run->ground->gid) < 0)
        return err_sys(err, "cannot give the directory for artifacts to the extractor");
    if (run->artifacts_fd < 0 ||
        run_spawn(run, &run->extractor, "vmrun-extractor", fds, 2, err) < 0)
        return -1;
    jail_limits_extractor(&order, config);
    if (run_jail_order(run, &run->extractor, &order, err) < 0 ||
        child_confined(&run->extractor, run->ground, err) < 0 ||
        run_jail_watch(run, &run->extractor, &run->extractor_jail, 1, err) < 0 ||
        run_setup_sent(ipc_send_extract(run->extractor.ipc, &setup, err), err) < 0)
        return -1;
    run->extractor_ipc.ready = extractor_ready;
    run->extractor_end.ready = extractor_ended;
    if (loop_add(&run->loop, &run->extractor_ipc, run->extractor.ipc, EPOLLIN, err) < 0)
        return -1;
    return loop_add(&run->loop, &run->extractor_end, run->extractor.pid_fd, EPOLLIN, err);
}

/*
 * No machine needs them any more. They may fill the disk that the artifacts and the result go to,
 * and a sync of the artifacts would first write whatever of them is still in the page cache.
 */
void run_drop_disks(struct supervision *run)
{
    struct outcome *outcome = run->outcome;
    struct disks *disks = run->disks;

    if (disks->scratch >= 0)
        outcome->scratch_bytes = disk_allocated_bytes(disks->scratch);
    if (disks->import >= 0)
        outcome->import_bytes = disk_allocated_bytes(disks->import);
    fd_close(&disks->scratch);
    fd_close(&disks->import);
    fd_close(&run->salvage_disks.scratch);
}

/* Only what an agent finished is read; and only now, with nobody left who could change it. */
static void logs_closed(struct supervision *run)
{
    struct outcome *outcome = run->outcome;
    struct err err = ERR_INIT;

    must(run->monitor.pid == 0 && run->salvager.pid == 0);
    run_drop_disks(run);
    outcome->extracted_due = (outcome->has_exported || outcome->salvage.exported) &&
                             run->plan->config->collect.count > 0;
    if (!outcome->extracted_due || run->signal_count > 1) { /* a second signal: at once */
        finish_artifacts(run);
        return;
    }
    if (spawn_extractor(run, &err) < 0) {
        child_fini(&run->extractor);
        run_fail(run, &err);
        finish_artifacts(run);
        return;
    }
    run_enter(run, STATE_EXTRACT);
}
