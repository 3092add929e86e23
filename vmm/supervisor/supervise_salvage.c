/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_salvage.c: a guest was lost before it could export; a second one, which has run
 * nothing, exports what the first left on its scratch disk (supervisor). The disk may hold
 * anything, so this machine is as little trusted as the first: it gets the image and that disk to
 * read, a fresh export disk, no inputs, no task, less of everything, and one deadline for all it
 * does.
 *
 * Input: records of its monitor, which may have been taken over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/child_jail.h"
#include "supervisor/jail_limits.h"
#include "supervisor/job_pack.h"
#include "supervisor/run_jail.h"
#include "supervisor/supervise_internal.h"

/* Enough for a kernel, the agent and the metadata of a file system, which is read once. */
#define SALVAGE_MEMORY_BYTES (256 * MIB)

#define RECORD_BIT(kind) (1U << (kind))

/* The guest is to blame, or its monitor is, which may be the guest's work. Not the host. */
static bool guest_was_lost(const struct outcome *outcome)
{
    switch (outcome->cause) {
    case CAUSE_WALL_DEADLINE:
    case CAUSE_CPU_DEADLINE:
    case CAUSE_IDLE_DEADLINE:
    case CAUSE_EXPORT_DEADLINE:
    case CAUSE_MONITOR_ENDED:
    case CAUSE_MONITOR_RULE:
        return true;
    case CAUSE_NONE:
        break;
    default:
        return false;
    }
    switch (outcome->ended.cause) {
    case IPC_END_FATAL:
    case IPC_END_SHUTDOWN:
    case IPC_END_FAIL_ENTRY:
    case IPC_END_INTERNAL:
    case IPC_END_UNKNOWN_EXIT:
    case IPC_END_PROTOCOL:
    case IPC_END_DEVICE:
        return outcome->has_ended;
    default:
        return false;
    }
}

bool run_salvage_due(const struct supervision *run)
{
    const struct outcome *outcome = run->outcome;

    return run->plan->config->salvage && run->plan->config->collect.count > 0 &&
           outcome->has_started && !outcome->has_exported && run->signal_count < 2 &&
           guest_was_lost(outcome);
}

/* Booting and mounting; the time to export comes on top. */
uint64_t run_salvage_ns(const struct config *config)
{
    return 2 * config->boot_ns;
}

/* ---- what its monitor says --------------------------------------------------------------------
 */

static int take_salvager_record(
    struct supervision *run, const struct ipc_record *record, struct err *err)
{
    struct outcome_salvage *salvage = &run->outcome->salvage;
    uint32_t due = RECORD_BIT(IPC_RUNNING) | RECORD_BIT(IPC_HELLO) | RECORD_BIT(IPC_EXITED) |
                   RECORD_BIT(IPC_EXPORTED) | RECORD_BIT(IPC_ENDED);
    unsigned kind = (unsigned)record->kind;
    struct ipc_ended ended;

    if (kind > IPC_ENDED || !(due & RECORD_BIT(kind)) || (run->salvager_seen & RECORD_BIT(kind)) ||
        (run->salvager_seen & RECORD_BIT(IPC_ENDED)))
        return err_set(err, "it sent record %u out of turn", kind);
    run->salvager_seen |= RECORD_BIT(kind);
    if (kind == IPC_EXPORTED)
        return wire_get_exported(record->payload, record->size, &salvage->claims, err);
    if (kind != IPC_ENDED)
        return 0; /* that nothing was run there is no news */
    if (ipc_get_ended(record, &ended, err) < 0)
        return -1;
    if (ended.cause == IPC_END_DONE && (run->salvager_seen & RECORD_BIT(IPC_EXPORTED))) {
        salvage->exported = true;
        return 0;
    }
    if (ended.cause == IPC_END_SHUTDOWN)
        text_copy(salvage->text, sizeof(salvage->text), "the second guest reset itself");
    else
        text_escape(salvage->text, sizeof(salvage->text), ended.text, strlen(ended.text));
    return 0;
}

/* As run_take_records(): a bounded number; true when there may be more. */
static bool take_salvager_records(struct supervision *run)
{
    struct outcome_salvage *salvage = &run->outcome->salvage;
    struct ipc_record record;

    for (int i = 0; i < RUN_RECORDS_MAX && run->salvager_ipc.fd >= 0; i++) {
        struct err err = ERR_INIT;
        int count = ipc_receive(run->salvager.ipc, &record, &err);

        if (count < 0 && err.errnum == EAGAIN)
            return false;
        if (count > 0 && take_salvager_record(run, &record, &err) == 0)
            continue;
        loop_remove(&run->loop, &run->salvager_ipc);
        if (count == 0)
            return false; /* its end is seen at the pidfd */
        salvage->exported = false;
        text_copy(salvage->text, sizeof(salvage->text), err.text);
        child_kill(&run->salvager);
    }
    return run->salvager_ipc.fd >= 0;
}

static void salvager_ready(void *context, uint32_t events)
{
    (void)events;
    (void)take_salvager_records(context); /* what is left makes the fd ready again */
}

static void salvager_ended(void *context, uint32_t events)
{
    struct supervision *run = context;
    struct outcome_salvage *salvage = &run->outcome->salvage;

    (void)events;
    for (int turn = 0; turn < RUN_LAST_TURNS_MAX && take_salvager_records(run); turn++)
        continue;
    loop_remove(&run->loop, &run->salvager_ipc);
    loop_remove(&run->loop, &run->salvager_end);
    loop_remove(&run->loop, &run->salvager_jail.source);
    child_reap(&run->salvager);
    if (!salvage->exported && salvage->text[0] == '\0')
        child_end_text(&run->salvager, salvage->text, sizeof(salvage->text));
    run_salvage_over(run);
}

/* ---- its end from outside ----------------------------------------------------------------------
 */

static void salvage_stop(struct supervision *run, const char *why)
{
    struct outcome_salvage *salvage = &run->outcome->salvage;

    if (run->salvager.pid == 0 || salvage->exported)
        return;
    if (salvage->text[0] == '\0')
        text_copy(salvage->text, sizeof(salvage->text), why);
    loop_remove(&run->loop, &run->salvager_ipc); /* what it still says comes too late */
    child_kill(&run->salvager);
}

void run_salvage_overdue(struct supervision *run)
{
    salvage_stop(run, "the second guest took too long");
    child_kill(&run->salvager); /* also one that is done and does not leave */
}

void run_salvage_cancel(struct supervision *run)
{
    salvage_stop(run, "the run was cancelled");
}

/* ---- its start ---------------------------------------------------------------------------------
 */

static int salvage_setup(
    const struct supervision *run, int job_fd, struct ipc_machine *setup, struct err *err)
{
    if (run_machine_setup(run, &run->salvage_disks, job_fd, setup, err) < 0)
        return -1;
    setup->cpu_count = 1;
    setup->memory_bytes = u64_min(setup->memory_bytes, SALVAGE_MEMORY_BYTES);
    setup->hugepages = HUGEPAGES_NO;
    setup->has_stdin = false;
    setup->disks[DISK_SCRATCH].readonly = true;
    return 0;
}

/* Into its jail, as the first one. */
static int salvage_confine(
    struct supervision *run, const struct ipc_machine *setup, struct err *err)
{
    struct config less = *run->plan->config; /* only numbers are looked at */
    struct jail_order order = {0};

    less.vcpus = setup->cpu_count;
    less.memory_bytes = setup->memory_bytes;
    jail_limits_monitor(&order, &less, setup->disks[DISK_EXPORT].bytes, 2 * run_salvage_ns(&less));
    if (run_jail_order(run, &run->salvager, &order, err) < 0 ||
        child_confined(&run->salvager, run->ground, err) < 0)
        return -1;
    return run_jail_watch(run, &run->salvager, &run->salvager_jail, setup->cpu_count + 1, err);
}

static int salvage_spawn(struct supervision *run, int job, struct err *err)
{
    const struct plan *plan = run->plan;
    const struct disks *disks = &run->salvage_disks;
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct child_fd fds[] = {{plan->kvm_fd, MONITOR_FD_KVM},
        {plan->kernel_fd, MONITOR_FD_KERNEL}, {plan->initramfs_fd, MONITOR_FD_INITRD},
        {job, MONITOR_FD_JOB}, {null, MONITOR_FD_STDOUT}, {null, MONITOR_FD_STDERR},
        {run->console_fd >= 0 ? run->console_fd : null, MONITOR_FD_CONSOLE},
        {null, MONITOR_FD_STDIN}, {plan->image_fd, MONITOR_FD_DISK + DISK_IMAGE},
        {disks->scratch, MONITOR_FD_DISK + DISK_SCRATCH},
        {disks->export_disk, MONITOR_FD_DISK + DISK_EXPORT}};

    if (null < 0)
        return err_sys(err, "cannot open /dev/null");
    return run_spawn(run, &run->salvager, "vmrun-monitor", fds, sizeof(fds) / sizeof(fds[0]), err);
}

/*
 * What the host failed to write back would be a hole in the file system, and the guest's fault. It
 * takes as long as what the task wrote and the host still has in its page cache.
 */
static int scratch_settle(struct supervision *run, struct err *err)
{
    if (fdatasync(run->disks->scratch) == 0)
        return 0;
    err_sys(err, "the host cannot write the scratch disk");
    if (run->outcome->cause == CAUSE_NONE) {
        memcpy(run->outcome->host_text, err->text, sizeof(err->text));
        run->outcome->cause = CAUSE_HOST;
    }
    return -1;
}

int run_salvage_start(struct supervision *run, struct err *err)
{
    AUTO_FD int job = job_make_salvage(run->plan->config, err);
    struct ipc_machine setup;

    run_say(run, "the guest was lost; a second one looks for what it left");
    if (job < 0 || scratch_settle(run, err) < 0 ||
        disks_make_salvage(&run->salvage_disks, run->disks, run->plan, err) < 0 ||
        salvage_setup(run, job, &setup, err) < 0 || salvage_spawn(run, job, err) < 0 ||
        salvage_confine(run, &setup, err) < 0 ||
        run_setup_sent(ipc_send_machine(run->salvager.ipc, &setup, err), err) < 0)
        return -1;
    run->salvager_ipc.ready = salvager_ready;
    run->salvager_end.ready = salvager_ended;
    if (loop_add(&run->loop, &run->salvager_ipc, run->salvager.ipc, EPOLLIN, err) < 0 ||
        loop_add(&run->loop, &run->salvager_end, run->salvager.pid_fd, EPOLLIN, err) < 0) {
        loop_remove(&run->loop, &run->salvager_ipc);
        return -1;
    }
    run_enter(run, STATE_SALVAGE);
    return 0;
}
