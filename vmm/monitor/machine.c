/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c: see machine.h. Threads: the event loop is the main thread; each vCPU has its own. They
 * meet in the registers of the devices (virtio/mmio.h), in the console, and in `vcpu_ended` here.
 */
#include "monitor/machine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/num.h"
#include "base/text.h"
#include "monitor/arch/arch.h"
#include "monitor/kvm.h"
#include "monitor/session.h"
#include "monitor/vcpu.h"
#include "monitor/virtio/blk.h"

enum {
    MACHINE_CPUS_MAX = 16,
    DRAIN_MS = 300, /* less than the supervisor gives a monitor that is told to halt */
    /* A TX queue that is full is empty after fewer turns of the device. */
    DRAIN_TURNS = 16,
};

struct machine {
    const struct ipc_machine *setup;
    struct guest_mem mem;
    int vm_fd;
    struct arch_entry entry;
    struct console console;
    struct vcpu_owner owner;
    struct vcpu_gate gate;
    struct vcpu vcpus[MACHINE_CPUS_MAX];

    struct loop loop;
    struct loop_source ipc_source;
    struct session session;
    struct blk disks[IPC_DISKS_MAX];
    uint32_t device_count;
    struct mmio_device *devices[ARCH_DEVICES_MAX];
    char breakage[IPC_TEXT_BYTES]; /* the last device that the guest broke; a note for the diagnosis
                                    */

    bool over; /* ENDED is final; loop thread */
    struct ipc_ended ended;
    struct vcpu *culprit; /* whose registers are worth a look */

    pthread_mutex_t vcpu_lock; /* guards the two below */
    bool vcpu_gone;
    struct ipc_ended vcpu_ended;
    struct vcpu *vcpu_culprit;

    int bell_fd; /* eventfd: a device may have work, or vcpu_gone was set */
    struct loop_source bell_source;
};

/* ---- the end: the first reason wins ---- */

static void machine_end(void *context, const struct ipc_ended *ended)
{
    struct machine *machine = context;

    if (machine->over)
        return;
    machine->over = true;
    machine->ended = *ended;
    loop_stop(&machine->loop);
}

static void machine_end_with(struct machine *machine, uint32_t cause, const char *text)
{
    struct ipc_ended ended = {.cause = cause};

    text_copy(ended.text, sizeof(ended.text), text);
    machine_end(machine, &ended);
}

/* On a vCPU thread: leave a note and wake the loop. */
static void machine_vcpu_ended(void *context, struct vcpu *vcpu, const struct ipc_ended *ended)
{
    struct machine *machine = context;
    const uint64_t one = 1;
    int failed;

    pthread_mutex_lock(&machine->vcpu_lock);
    if (!machine->vcpu_gone) {
        machine->vcpu_gone = true;
        machine->vcpu_ended = *ended;
        machine->vcpu_culprit = vcpu;
    }
    pthread_mutex_unlock(&machine->vcpu_lock);
    failed = fd_write_all(machine->bell_fd, &one, sizeof(one));
    must(failed == 0 || errno == EAGAIN); /* an eventfd of our own, perhaps at its end */
}

static void machine_look_at_vcpus(struct machine *machine)
{
    struct ipc_ended ended;
    bool gone;

    pthread_mutex_lock(&machine->vcpu_lock);
    gone = machine->vcpu_gone;
    ended = machine->vcpu_ended;
    machine->culprit = machine->vcpu_culprit;
    pthread_mutex_unlock(&machine->vcpu_lock);
    if (gone)
        machine_end(machine, &ended);
}

/* One bell for all: who rang can be seen at what there is to do. */
static void machine_bell(void *context, uint32_t events)
{
    struct machine *machine = context;
    uint64_t rings;

    (void)events;
    /* Before anything is looked at: what comes later rings again. */
    (void)!read(machine->bell_fd, &rings, sizeof(rings));
    for (uint32_t i = 0; i < machine->device_count && !machine->over; i++)
        mmio_kick(machine->devices[i]);
    machine_look_at_vcpus(machine);
}

static void machine_interrupt(void *context, uint32_t line)
{
    struct machine *machine = context;
    struct err err = ERR_INIT;

    /* A guest that misses one would wait for a limit, and the task would get the blame. */
    if (kvm_irq_edge(machine->vm_fd, line, &err) < 0)
        machine_end_with(machine, IPC_END_HOST, err.text);
}

/* The guest is to be stopped from outside: what its devices look like helps to see why. */
static void machine_halt(struct machine *machine)
{
    struct ipc_ended ended = {.cause = IPC_END_HALTED};

    text_copy(ended.text, sizeof(ended.text), machine->breakage);
    for (uint32_t i = 0; i < machine->device_count; i++) {
        char line[256];
        size_t used = strlen(ended.text);

        mmio_describe(machine->devices[i], line, sizeof(line));
        snprintf(ended.text + used, sizeof(ended.text) - used, "%s%s", used && line[0] ? " | " : "",
            line);
    }
    machine_end(machine, &ended);
}

static void machine_ipc(void *context, uint32_t events)
{
    struct machine *machine = context;
    static struct ipc_record record;
    struct err err = ERR_INIT;
    int received = ipc_receive(IPC_FD, &record, &err);

    (void)events;
    if (received <= 0)
        _exit(1); /* the supervisor is gone: nobody is left to run for */
    if (record.kind == IPC_CANCEL)
        session_cancel(&machine->session);
    else
        machine_halt(machine);
}

/*
 * A guest that boots may reset a device and begin anew. Later its streams and file systems are on
 * it, which no reset brings back: it would only wait for a limit, and the task would get the blame.
 */
static void machine_device_broken(void *context, struct mmio_device *device, const struct err *err)
{
    struct machine *machine = context;

    (void)device;
    text_copy(machine->breakage, sizeof(machine->breakage), err->text);
    if (machine->session.phase > SESSION_BOOTING)
        machine_end_with(machine, IPC_END_DEVICE, err->text);
}

static void machine_disk_failed(void *context, const struct err *err)
{
    machine_end_with(context, IPC_END_DISK, err->text);
}

/* ---- register accesses, on vCPU threads ---- */

static struct mmio_device *machine_device_at(
    struct machine *machine, gpa_t address, uint64_t *offset)
{
    uint64_t base = arch_device_gpa(0).value, index;

    if (address.value < base)
        return NULL;
    index = (address.value - base) / ARCH_DEVICE_BYTES;
    if (index >= machine->device_count)
        return NULL;
    *offset = (address.value - base) % ARCH_DEVICE_BYTES;
    return machine->devices[index];
}

static void machine_mmio_read(void *context, gpa_t address, uint8_t *data, uint32_t length)
{
    uint64_t offset = 0;
    struct mmio_device *device = machine_device_at(context, address, &offset);

    memset(data, 0xff, length); /* where nothing answers, a bus floats high */
    if (device)
        mmio_read(device, offset, data, length);
}

static void machine_mmio_write(void *context, gpa_t address, const uint8_t *data, uint32_t length)
{
    uint64_t offset = 0;
    struct mmio_device *device = machine_device_at(context, address, &offset);

    if (device)
        mmio_write(device, offset, data, length);
}

/* ---- building ---- */

static int machine_add_device(struct machine *machine, struct mmio_device *device, struct err *err)
{
    uint32_t index = machine->device_count;
    uint64_t base = arch_device_gpa(index).value;
    const struct mmio_wiring wiring = {.bell_fd = machine->bell_fd,
        .interrupt = machine_interrupt,
        .context = machine,
        .line = arch_device_gsi(index)};

    must(index < ARCH_DEVICES_MAX);
    device->broken = machine_device_broken;
    device->broken_context = machine;
    machine->devices[machine->device_count++] = device;
    mmio_wire(device, &wiring);
    return kvm_ioeventfd(machine->vm_fd, gpa(base + MMIO_QUEUE_NOTIFY), machine->bell_fd, err);
}

/* The disks in the order of the record, then vsock: the guest finds them in this order. */
static int machine_add_devices(struct machine *machine, struct err *err)
{
    static const char *const names[IPC_DISKS_MAX] = {"disk 0", "disk 1", "disk 2", "disk 3"};
    const struct ipc_machine *setup = machine->setup;

    for (uint32_t i = 0; i < setup->disk_count; i++) {
        struct blk_options options = {
            .name = names[i],
            .fd = MONITOR_FD_DISK + (int)i,
            .bytes = setup->disks[i].bytes,
            .readonly = setup->disks[i].readonly,
            .punches = setup->disks[i].punches,
            .id = names[i],
            .host_failed = machine_disk_failed,
            .host_failed_context = machine,
        };

        if (blk_init(&machine->disks[i], &options, &machine->mem, err) < 0 ||
            machine_add_device(machine, &machine->disks[i].device, err) < 0)
            return -1;
    }
    return machine_add_device(machine, vsock_device(machine->session.vsock), err);
}

static int machine_open_session(struct machine *machine, struct err *err)
{
    const struct session_options options = {
        .loop = &machine->loop,
        .ipc_fd = IPC_FD,
        .job_fd = MONITOR_FD_JOB,
        .job_bytes = machine->setup->job_bytes,
        .stdout_fd = MONITOR_FD_STDOUT,
        .stderr_fd = MONITOR_FD_STDERR,
        .stdin_fd = MONITOR_FD_STDIN,
        .has_stdin = machine->setup->has_stdin,
        .mem = &machine->mem,
        .ended = machine_end,
        .context = machine,
    };

    return session_init(&machine->session, &options, err);
}

static int machine_load(struct machine *machine, struct err *err)
{
    const struct arch_boot boot = {
        .setup = machine->setup,
        .mem = &machine->mem,
        .kernel_fd = MONITOR_FD_KERNEL,
        .initrd_fd = MONITOR_FD_INITRD,
        .device_count = machine->setup->disk_count + 1,
    };

    if (arch_boot_load(&boot, &machine->entry, err) == 0)
        return 0;
    if (err->errnum == 0) /* no call failed: it is the files */
        machine_end_with(machine, IPC_END_KERNEL, err->text);
    return -1;
}

static int machine_add_vcpus(struct machine *machine, struct err *err)
{
    machine->owner = (struct vcpu_owner){
        .context = machine,
        .gate = &machine->gate,
        .console = machine->setup->console ? &machine->console : NULL,
        .mmio_read = machine_mmio_read,
        .mmio_write = machine_mmio_write,
        .ended = machine_vcpu_ended,
    };
    for (uint32_t i = 0; i < machine->setup->cpu_count; i++) {
        struct vcpu *vcpu = &machine->vcpus[i];

        vcpu->index = i;
        if (kvm_vcpu_create(MONITOR_FD_KVM, machine->vm_fd, i, &vcpu->kvm, err) < 0 ||
            arch_vcpu_init(MONITOR_FD_KVM, vcpu->kvm.fd, i, machine->setup, &machine->entry, err) <
                0)
            return -1;
    }
    return 0;
}

static int machine_build(struct machine *machine, struct err *err)
{
    const struct ipc_machine *setup = machine->setup;

    if (setup->cpu_count < 1 || setup->cpu_count > MACHINE_CPUS_MAX)
        return err_set(err, "%u vCPUs; 1 to %d are possible", setup->cpu_count, MACHINE_CPUS_MAX);
    if (kvm_check_silent(MONITOR_FD_KVM, err) < 0)
        return -1;
    machine->vm_fd = kvm_create_vm(MONITOR_FD_KVM, err);
    if (machine->vm_fd < 0 ||
        guest_mem_map(&machine->mem, setup->memory_bytes, setup->hugepages, err) < 0 ||
        kvm_set_memory(machine->vm_fd, &machine->mem, err) < 0 ||
        arch_vm_init(machine->vm_fd, err) < 0 || machine_load(machine, err) < 0 ||
        machine_add_vcpus(machine, err) < 0 || machine_open_session(machine, err) < 0 ||
        machine_add_devices(machine, err) < 0)
        return -1;
    return 0;
}

/* What KVM lacks says more than the call that failed for it. */
static int machine_build_failed(struct err *err)
{
    struct err lack = ERR_INIT;

    if (kvm_check(MONITOR_FD_KVM, &lack) < 0)
        *err = lack;
    return -1;
}

static int machine_watch(struct machine *machine, struct err *err)
{
    machine->bell_source.ready = machine_bell;
    machine->bell_source.context = machine;
    machine->ipc_source.ready = machine_ipc;
    machine->ipc_source.context = machine;
    if (loop_add(&machine->loop, &machine->bell_source, machine->bell_fd, EPOLLIN, err) < 0)
        return -1;
    return loop_add(&machine->loop, &machine->ipc_source, IPC_FD, EPOLLIN, err);
}

/* ---- running ---- */

/* Every thread is sealed and waits; then this one too, until the supervisor has looked at all. */
static int machine_start(struct machine *machine, struct jail *jail, struct err *err)
{
    struct ipc_running running;

    if (vcpu_signal_init(err) < 0)
        return -1;
    vcpu_gate_init(&machine->gate, jail, machine->setup->cpu_count);
    for (uint32_t i = 0; i < machine->setup->cpu_count; i++) {
        if (vcpu_start(&machine->vcpus[i], &machine->owner, err) < 0)
            return -1;
    }
    if (vcpu_gate_await(&machine->gate, err) < 0 || jail_seal(jail, err) < 0)
        return -1;
    running.mono_ns = clock_mono_ns();
    if (ipc_send_running(IPC_FD, &running, err) < 0)
        return -1;
    vcpu_gate_open(&machine->gate);
    return 0;
}

/* The vCPUs stand still after this; then their registers and counts are final. */
static void machine_stop(struct machine *machine)
{
    struct vcpu *culprit = machine->culprit ? machine->culprit : &machine->vcpus[0];

    vcpu_gate_refuse(&machine->gate);
    for (uint32_t i = 0; i < machine->setup->cpu_count && i < MACHINE_CPUS_MAX; i++) {
        vcpu_stop(&machine->vcpus[i]);
        machine->ended.exits += machine->vcpus[i].exits;
        machine->ended.vcpu_ns += machine->vcpus[i].cpu_ns;
    }
    if (culprit->kvm.fd >= 0 && !culprit->started && machine->ended.cause != IPC_END_DONE)
        arch_vcpu_registers(culprit->kvm.fd, &machine->ended);
    if (machine->setup->console)
        console_finish(&machine->console, &machine->ended);
}

static void machine_drain_late(void *context)
{
    struct machine *machine = context;

    loop_stop(&machine->loop);
}

/* It was the machine that ended, not the host that failed; then there may be output left. */
static bool machine_may_have_output(const struct machine *machine)
{
    const uint32_t cause = machine->ended.cause;

    return machine->session.vsock && cause != IPC_END_DONE && cause != IPC_END_HOST &&
           cause != IPC_END_DISK && cause != IPC_END_KERNEL;
}

/*
 * What a task wrote just before its guest died says best why: it is taken from the queue, where the
 * guest may have left it without ringing, and passed on as long as the scribe takes it in time.
 */
static void machine_drain(struct machine *machine)
{
    struct loop_timer late = {.expired = machine_drain_late, .context = machine};
    uint64_t until = clock_mono_ns() + DRAIN_MS * NS_PER_MS;
    struct err err = ERR_INIT;

    if (!machine_may_have_output(machine))
        return;
    session_drain(&machine->session);
    for (int i = 0; i < DRAIN_TURNS; i++)
        mmio_kick(vsock_device(machine->session.vsock));
    loop_timer_set(&machine->loop, &late, until);
    while (!session_is_drained(&machine->session) && clock_mono_ns() < until) {
        if (loop_run(&machine->loop, &err) < 0)
            break;
    }
    loop_timer_clear(&machine->loop, &late);
}

static int machine_prepare(struct machine *machine, struct err *err)
{
    machine->vm_fd = -1;
    machine->ipc_source.fd = machine->bell_source.fd = machine->bell_fd = -1;
    for (uint32_t i = 0; i < MACHINE_CPUS_MAX; i++)
        machine->vcpus[i].kvm.fd = -1;
    pthread_mutex_init(&machine->vcpu_lock, NULL);
    console_init(&machine->console, MONITOR_FD_CONSOLE);
    machine->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (machine->bell_fd < 0)
        return err_sys(err, "cannot create an eventfd");
    return loop_init(&machine->loop, err);
}

void machine_run(const struct ipc_machine *setup, struct jail *jail, struct ipc_ended *ended)
{
    static struct machine machine; /* too large for a stack; the process has exactly one */
    struct err err = ERR_INIT;

    machine.setup = setup;
    if (machine_prepare(&machine, &err) < 0 ||
        (machine_build(&machine, &err) < 0 && machine_build_failed(&err) < 0) ||
        machine_watch(&machine, &err) < 0 || machine_start(&machine, jail, &err) < 0 ||
        loop_run(&machine.loop, &err) < 0)
        machine_end_with(&machine, IPC_END_HOST, err.text);
    machine_stop(&machine);
    machine_drain(&machine);
    *ended = machine.ended;
    /* Nothing is freed: the process is about to exit, which is faster and complete. */
}
