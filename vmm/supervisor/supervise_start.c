/* SPDX-License-Identifier: Apache-2.0 */
/* supervise_start.c: the children of a run get their fds and their setup (supervisor). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "supervisor/job_pack.h"
#include "supervisor/child_jail.h"
#include "supervisor/jail_limits.h"
#include "supervisor/output_dir.h"
#include "supervisor/run_jail.h"
#include "supervisor/story.h"
#include "supervisor/supervise_internal.h"

/* What a marker of the scribe and escaping may add to a live stream beyond its cap. */
#define LIVE_HEADROOM_BYTES (64 * KIB)

/* What lines of JSON add to each byte of output when they are spooled for a slow reader. */
enum { EVENTS_GROWTH = 8 };

/* Room for several packets of the guest, so that fewer wake-ups move more bytes. */
enum { STREAM_PIPE_BYTES = 512 << 10 };

/* Both ends of what connects the children; closed here once the children have theirs. */
struct plumbing {
    int null;
    int log[STREAM_COUNT];
    int raw_read[STREAM_COUNT], raw_write[STREAM_COUNT]; /* monitor to scribe */
    int live_read[2], live_write[2];                     /* scribe to us */
    int stdin_read, stdin_write;                         /* us to monitor */
    int job;
};

static void plumbing_close(struct plumbing *plumbing)
{
    fd_close(&plumbing->null);
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&plumbing->log[i]);
        fd_close(&plumbing->raw_read[i]);
        fd_close(&plumbing->raw_write[i]);
    }
    for (int i = 0; i < 2; i++) {
        fd_close(&plumbing->live_read[i]);
        fd_close(&plumbing->live_write[i]);
    }
    fd_close(&plumbing->stdin_read);
    fd_close(&plumbing->stdin_write);
    fd_close(&plumbing->job);
}

static int make_pipe(int *read_end, int *write_end, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, "cannot create a pipe");
    *read_end = ends[0];
    *write_end = ends[1];
    (void)fcntl(*write_end, F_SETPIPE_SZ, STREAM_PIPE_BYTES);
    return 0;
}

/* One whose end of the monitor's does not block. */
static int make_monitor_pipe(int *read_end, int *write_end, const int *monitors, struct err *err)
{
    return make_pipe(read_end, write_end, err) < 0 ? -1 : fd_set_nonblocking(*monitors, err);
}

static int plumbing_make(struct plumbing *plumbing, const struct supervision *run, struct err *err)
{
    static const char *const names[] = {"stdout", "stderr", "console"};
    const struct config *config = run->plan->config;
    int streams = run->plan->console ? STREAM_COUNT : STREAM_CONSOLE;

    memset(plumbing, 0xff, sizeof(*plumbing)); /* every fd -1 */
    plumbing->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (plumbing->null < 0)
        return err_sys(err, "cannot open /dev/null");
    for (int i = 0; i < streams; i++) {
        plumbing->log[i] = output_create_file(run->output_fd, names[i], err);
        if (plumbing->log[i] < 0 || make_monitor_pipe(&plumbing->raw_read[i],
                                        &plumbing->raw_write[i], &plumbing->raw_write[i], err) < 0)
            return -1;
    }
    for (int i = 0; i < 2 && run->view.output != VIEW_FILES; i++) {
        if (make_pipe(&plumbing->live_read[i], &plumbing->live_write[i], err) < 0)
            return -1;
    }
    if (config->stdin_kind != STDIN_NONE &&
        make_monitor_pipe(
            &plumbing->stdin_read, &plumbing->stdin_write, &plumbing->stdin_read, err) < 0)
        return -1;
    plumbing->job = job_make(config, err);
    return plumbing->job < 0 ? -1 : 0;
}

/* FD, or /dev/null where there is none. */
static struct child_fd given(const struct plumbing *plumbing, int fd, int number)
{
    return (struct child_fd){fd >= 0 ? fd : plumbing->null, number};
}

int run_spawn(const struct supervision *run, struct child *child, const char *name,
    const struct child_fd *fds, size_t fd_count, struct err *err)
{
    struct child_fd all[CHILD_FDS_MAX];
    AUTO_FD int share = -1;

    must(fd_count < CHILD_FDS_MAX);
    memcpy(all, fds, fd_count * sizeof(*fds));
    if (run->run_dir) {
        share = run_dir_share(run->run_dir, err);
        if (share < 0)
            return -1;
        all[fd_count++] = (struct child_fd){share, CHILD_FD_LOCK};
    }
    return child_spawn(child, run->ground, run->plan->programs_fd, name, all, fd_count, err);
}

int run_setup_sent(int failed, struct err *err)
{
    if (failed == 0 || (err->errnum != EPIPE && err->errnum != ECONNRESET))
        return failed;
    *err = (struct err)ERR_INIT;
    return 0;
}

static uint32_t live_form(const struct supervision *run, int fd)
{
    if (run->view.output == VIEW_EVENTS)
        return LIVE_EVENTS;
    return isatty(fd) ? LIVE_ESCAPED : LIVE_RAW;
}

static int start_scribe(struct supervision *run, const struct plumbing *plumbing, struct err *err)
{
    struct jail_order order = {0};
    struct child_fd fds[3 * STREAM_COUNT];
    size_t count = 0;

    for (int i = 0; i < STREAM_COUNT; i++) {
        fds[count++] = given(plumbing, plumbing->raw_read[i], SCRIBE_FD_IN + i);
        fds[count++] = given(plumbing, plumbing->log[i], SCRIBE_FD_LOG + i);
        fds[count++] = given(plumbing, i < 2 ? plumbing->live_write[i] : -1, SCRIBE_FD_LIVE + i);
    }
    if (run_spawn(run, &run->scribe, "vmrun-scribe", fds, count, err) < 0)
        return -1;
    jail_limits_scribe(&order, run->plan->config, CONSOLE_CAP_BYTES);
    return run_jail_order(run, &run->scribe, &order, err);
}

int run_machine_setup(const struct supervision *run, const struct disks *disks, int job_fd,
    struct ipc_machine *setup, struct err *err)
{
    const struct config *config = run->plan->config;
    const struct plan *plan = run->plan;

    *setup = (struct ipc_machine){.cpu_count = (uint32_t)config->vcpus,
        .memory_bytes = config->memory_bytes,
        .hardware = config->hardware,
        .hugepages = config->hugepages,
        .console = run->plan->console,
        .has_stdin = config->stdin_kind != STDIN_NONE,
        .disk_count = disks->import >= 0 ? 4 : 3,
        .cpu_mask_count = config->cpu_mask_count};

    memcpy(setup->cpu_mask, config->cpu_mask, sizeof(setup->cpu_mask));
    memcpy(setup->cmdline, plan->cmdline, sizeof(setup->cmdline));
    if (fd_size(plan->initramfs_fd, &setup->initrd_bytes, err) < 0 ||
        fd_size(job_fd, &setup->job_bytes, err) < 0 ||
        disk_describe(plan->image_fd, true, &setup->disks[DISK_IMAGE], err) < 0 ||
        disk_describe(disks->scratch, false, &setup->disks[DISK_SCRATCH], err) < 0 ||
        disk_describe(disks->export_disk, false, &setup->disks[DISK_EXPORT], err) < 0)
        return -1;
    if (disks->import < 0)
        return 0;
    return disk_describe(disks->import, true, &setup->disks[DISK_IMPORT], err);
}

static uint64_t largest_disk(const struct ipc_machine *setup)
{
    uint64_t largest = 0;

    for (uint32_t i = DISK_SCRATCH; i < setup->disk_count; i++)
        largest = u64_max(largest, setup->disks[i].bytes);
    return largest;
}

static int start_monitor(struct supervision *run, const struct plumbing *plumbing,
    const struct ipc_machine *setup, struct err *err)
{
    const struct plan *plan = run->plan;
    struct jail_order order = {0};
    struct child_fd fds[] = {
        {plan->kvm_fd, MONITOR_FD_KVM},
        {plan->kernel_fd, MONITOR_FD_KERNEL},
        {plan->initramfs_fd, MONITOR_FD_INITRD},
        {plumbing->job, MONITOR_FD_JOB},
        {plumbing->raw_write[STREAM_STDOUT], MONITOR_FD_STDOUT},
        {plumbing->raw_write[STREAM_STDERR], MONITOR_FD_STDERR},
        given(plumbing, plumbing->raw_write[STREAM_CONSOLE], MONITOR_FD_CONSOLE),
        given(plumbing, plumbing->stdin_read, MONITOR_FD_STDIN),
        {plan->image_fd, MONITOR_FD_DISK + DISK_IMAGE},
        {run->disks->scratch, MONITOR_FD_DISK + DISK_SCRATCH},
        {run->disks->export_disk, MONITOR_FD_DISK + DISK_EXPORT},
        {run->disks->import, MONITOR_FD_DISK + DISK_IMPORT},
    };
    size_t count = sizeof(fds) / sizeof(fds[0]) - (run->disks->import < 0);

    if (run_spawn(run, &run->monitor, "vmrun-monitor", fds, count, err) < 0)
        return -1;
    jail_limits_monitor(&order, plan->config, largest_disk(setup), run_host_cpu_ns(plan->config));
    return run_jail_order(run, &run->monitor, &order, err);
}

/* Both are in their jails before they learn what they are there for. */
static int send_setups(struct supervision *run, const struct ipc_machine *machine, struct err *err)
{
    const struct config *config = run->plan->config;
    struct ipc_scribe scribe = {
        .cap_bytes = {config->stdout_bytes, config->stderr_bytes, CONSOLE_CAP_BYTES},
        .live_form = {live_form(run, STDOUT_FILENO), live_form(run, STDERR_FILENO)}};

    if (child_confined(&run->monitor, run->ground, err) < 0)
        return -1;
    run_mark(run, MOMENT_SPAWN); /* before the setup: the monitor's own times must not be earlier */
    if (run_setup_sent(ipc_send_machine(run->monitor.ipc, machine, err), err) < 0 ||
        child_confined(&run->scribe, run->ground, err) < 0)
        return -1;
    return run_setup_sent(ipc_send_scribe(run->scribe.ipc, &scribe, err), err);
}

/* Everything in one place: both streams, on stdout, as the lines of events.h. */
static int start_events(struct supervision *run, struct plumbing *plumbing, struct err *err)
{
    const struct config *config = run->plan->config;
    uint64_t limit = EVENTS_GROWTH * (config->stdout_bytes + config->stderr_bytes);
    struct err ignored = ERR_INIT;
    int spool = disk_create(run->plan, &ignored);

    run->events.broken = run_events_broken;
    run->events.context = run;
    for (int i = 0; i < 2; i++) {
        run->live[i].divert = events_feed;
        run->live[i].divert_context = &run->events.feeds[i];
        if (live_start(&run->live[i], &run->loop, fd_take(&plumbing->live_read[i]),
                i == 0 ? sink_open(STDOUT_FILENO, O_WRONLY) : (struct sink)SINK_INIT,
                i == 0 ? spool : -1, limit, err) < 0)
            return -1;
    }
    return 0;
}

static int start_output(struct supervision *run, struct plumbing *plumbing, struct err *err)
{
    uint64_t caps[] = {run->plan->config->stdout_bytes, run->plan->config->stderr_bytes};

    for (int i = 0; i < 2; i++) {
        /* Without a spool a slow reader loses output that the log has. */
        struct err ignored = ERR_INIT;
        int spool = disk_create(run->plan, &ignored);

        if (live_start(&run->live[i], &run->loop, fd_take(&plumbing->live_read[i]),
                sink_open(STDOUT_FILENO + i, O_WRONLY), spool,
                ESCAPE_FACTOR * caps[i] + LIVE_HEADROOM_BYTES, err) < 0)
            return -1;
    }
    return 0;
}

static int start_live(struct supervision *run, struct plumbing *plumbing, struct err *err)
{
    if (run->view.progress) {
        run->progress.describe = story_progress;
        run->progress.context = run;
        progress_start(&run->progress, &run->loop);
    }
    for (int i = 0; i < 2; i++) {
        run->live[i].progress = &run->progress;
        run->live[i].changed = run_live_changed;
        run->live[i].context = run;
    }
    switch (run->view.output) {
    case VIEW_EVENTS:
        return start_events(run, plumbing, err);
    case VIEW_FILES:
        return 0;
    default:
        return start_output(run, plumbing, err);
    }
}

static int start_stdin(struct supervision *run, struct plumbing *plumbing, struct err *err)
{
    const struct plan *plan = run->plan;
    struct sink from = {.fd = plan->stdin_fd}; /* a regular file */

    if (plan->config->stdin_kind == STDIN_NONE)
        return 0;
    if (plan->config->stdin_kind == STDIN_INHERIT)
        from = sink_open(STDIN_FILENO, O_RDONLY);
    return stdin_pump_start(
        &run->stdin_pump, &run->loop, from, fd_take(&plumbing->stdin_write), err);
}

static int listen_to_children(struct supervision *run, struct err *err)
{
    if (run_jail_watch(run, &run->scribe, &run->scribe_jail, 1, err) < 0 ||
        run_jail_watch(run, &run->monitor, &run->monitor_jail,
            (unsigned int)run->plan->config->vcpus + 1, err) < 0)
        return -1;
    if (loop_add(&run->loop, &run->scribe_ipc, run->scribe.ipc, EPOLLIN, err) < 0 ||
        loop_add(&run->loop, &run->scribe_end, run->scribe.pid_fd, EPOLLIN, err) < 0 ||
        loop_add(&run->loop, &run->monitor_ipc, run->monitor.ipc, EPOLLIN, err) < 0)
        return -1;
    return loop_add(&run->loop, &run->monitor_end, run->monitor.pid_fd, EPOLLIN, err);
}

int run_start(struct supervision *run, struct err *err)
{
    struct ipc_machine setup;
    struct plumbing plumbing;
    int failed = plumbing_make(&plumbing, run, err);

    if (failed == 0)
        failed = start_live(run, &plumbing, err);
    if (failed == 0)
        failed = run_machine_setup(run, run->disks, plumbing.job, &setup, err);
    if (failed == 0)
        failed = start_scribe(run, &plumbing, err);
    if (failed == 0)
        failed = start_monitor(run, &plumbing, &setup, err);
    if (failed == 0)
        failed = send_setups(run, &setup, err);
    if (failed == 0)
        failed = listen_to_children(run, err);
    if (failed == 0)
        failed = start_stdin(run, &plumbing, err);
    if (failed == 0)
        run->console_fd = fd_take(&plumbing.raw_write[STREAM_CONSOLE]);
    for (int i = 0; i < STREAM_COUNT; i++)
        run->log_fds[i] = fd_take(&plumbing.log[i]);
    plumbing_close(&plumbing);
    if (failed == 0)
        run_enter(run, STATE_BOOT);
    return failed;
}
