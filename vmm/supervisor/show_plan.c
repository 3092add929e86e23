/* SPDX-License-Identifier: Apache-2.0 */
/* show_plan.c: the machine and the processes of a run that is not made; see show.h. */
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "supervisor/arch/arch.h"
#include "supervisor/disks.h"
#include "supervisor/result_parts.h"
#include "supervisor/show.h"

struct device {
    const char *role;
    bool readonly;
    uint64_t bytes; /* 0: not a disk, or not known before it is made */
};

static uint64_t file_bytes(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* In the order that the guest finds them: enum ipc_disk_role, then vsock. */
static size_t devices_of(const struct plan *plan, struct device devices[IPC_DISKS_MAX + 1])
{
    const struct config *config = plan->config;
    size_t count = 0;

    devices[count++] = (struct device){"image", true, file_bytes(plan->image_fd)};
    devices[count++] = (struct device){"scratch", false, config->disk_bytes};
    devices[count++] = (struct device){"export", false, disk_export_bytes(config)};
    if (config->input_count > 0)
        devices[count++] = (struct device){"import", true, 0};
    devices[count++] = (struct device){"vsock", false, 0};
    return count;
}

static json_t *show_devices(const struct plan *plan)
{
    struct device devices[IPC_DISKS_MAX + 1];
    size_t count = devices_of(plan, devices);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        json_t *device = json_object();
        struct host_device_place place;

        put_text(device, "role", devices[i].role);
        put_text(device, "type", i + 1 == count ? "virtio-vsock" : "virtio-blk");
        if (host_device_place(i, &place)) {
            char gpa[32];

            snprintf(gpa, sizeof(gpa), "0x%llx", (unsigned long long)place.gpa);
            put_text(device, "gpa", gpa);
            put_number(device, "gsi", place.gsi);
        }
        put(device, "bytes",
            devices[i].bytes ? json_integer((json_int_t)devices[i].bytes) : json_null());
        put(device, "readonly", json_boolean(devices[i].readonly));
        json_array_append_new(list, device);
    }
    return list;
}

/* One fd of a child beside the channel to the supervisor; the numbers are those of ipc.h. */
struct given {
    int number;
    const char *what;
};

static json_t *show_process(const char *name, const struct given *given, size_t count)
{
    json_t *process = json_object(), *fds = json_object();

    put_text(fds, "0-2", "/dev/null");
    put_text(fds, "3", "channel to vmrun");
    for (size_t i = 0; i < count; i++) {
        char number[16];

        snprintf(number, sizeof(number), "%d", given[i].number);
        put_text(fds, number, given[i].what);
    }
    put_text(process, "name", name);
    put(process, "fds", fds);
    return process;
}

static json_t *show_monitor(const struct plan *plan)
{
    const char *null = "/dev/null";
    bool has_stdin = plan->config->stdin_kind != STDIN_NONE;
    const struct given given[] = {{MONITOR_FD_KVM, "/dev/kvm"},
        {MONITOR_FD_KERNEL, "kernel, read-only"}, {MONITOR_FD_INITRD, "initramfs, read-only"},
        {MONITOR_FD_JOB, "job (memfd)"}, {MONITOR_FD_STDOUT, "pipe to the scribe: stdout"},
        {MONITOR_FD_STDERR, "pipe to the scribe: stderr"},
        {MONITOR_FD_CONSOLE, plan->console ? "pipe to the scribe: console" : null},
        {MONITOR_FD_STDIN, has_stdin ? "pipe from vmrun: stdin" : null},
        {MONITOR_FD_DISK + DISK_IMAGE, "image, read-only"},
        {MONITOR_FD_DISK + DISK_SCRATCH, "scratch disk, unnamed file"},
        {MONITOR_FD_DISK + DISK_EXPORT, "export disk, unnamed file"},
        {MONITOR_FD_DISK + DISK_IMPORT, "import disk, unnamed file, read-only"}};
    size_t count = sizeof(given) / sizeof(given[0]);

    return show_process("vmrun-monitor", given, count - (plan->config->input_count == 0));
}

static json_t *show_scribe(const struct plan *plan)
{
    const char *null = "/dev/null";
    const struct given given[] = {{SCRIBE_FD_IN + STREAM_STDOUT, "pipe from the monitor: stdout"},
        {SCRIBE_FD_IN + STREAM_STDERR, "pipe from the monitor: stderr"},
        {SCRIBE_FD_IN + STREAM_CONSOLE, plan->console ? "pipe from the monitor: console" : null},
        {SCRIBE_FD_LOG + STREAM_STDOUT, "log file stdout"},
        {SCRIBE_FD_LOG + STREAM_STDERR, "log file stderr"},
        {SCRIBE_FD_LOG + STREAM_CONSOLE, plan->console ? "log file console" : null},
        {SCRIBE_FD_LIVE + STREAM_STDOUT, "pipe to vmrun: live stdout"},
        {SCRIBE_FD_LIVE + STREAM_STDERR, "pipe to vmrun: live stderr"},
        {SCRIBE_FD_LIVE + STREAM_CONSOLE, null}};

    return show_process("vmrun-scribe", given, sizeof(given) / sizeof(given[0]));
}

static json_t *show_processes(const struct plan *plan, enum jail_ground_kind kind)
{
    static const struct given extractor[] = {{EXTRACTOR_FD_DISK, "export disk, read-only"},
        {EXTRACTOR_FD_OUT, "fresh directory for the artifacts"}};
    json_t *list = json_array(), *process;
    struct jail_order orders[SHOW_PROCESSES] = {0};
    size_t i;

    json_array_append_new(list, show_monitor(plan));
    json_array_append_new(list, show_scribe(plan));
    if (plan->config->collect.count > 0) /* once the monitor is gone */
        json_array_append_new(list, show_process("vmrun-extractor", extractor, 2));
    show_jail_orders(plan->config, orders);
    json_array_foreach(list, i, process) show_jail_of(process, plan->config, kind, &orders[i]);
    return list;
}

json_t *show_plan_make(const struct plan *plan)
{
    json_t *root = json_object();
    enum jail_ground_kind kind;
    json_t *jail = show_jail_make(plan->config, &kind);

    put_number(root, "vcpus", plan->config->vcpus);
    put_number(root, "memory_bytes", plan->config->memory_bytes);
    put_text(
        root, "hardware", plan->config->hardware == HARDWARE_MPTABLE ? "mptable" : "devicetree");
    put_text(root, "kernel_cmdline", plan->cmdline);
    put(root, "devices", show_devices(plan));
    put(root, "jail", jail);
    put(root, "processes", show_processes(plan, kind));
    put(root, "limits", result_limits(plan->config));
    return root;
}

static void print_devices(const json_t *list, FILE *to)
{
    const json_t *device;
    size_t i;

    json_array_foreach(list, i, device)
    {
        const char *gpa = json_string_value(json_object_get(device, "gpa"));
        json_int_t bytes = json_integer_value(json_object_get(device, "bytes"));

        fprintf(to, "  %-8s %-12s", json_string_value(json_object_get(device, "role")),
            json_string_value(json_object_get(device, "type")));
        if (gpa)
            fprintf(to, " at %s, GSI %lld", gpa,
                (long long)json_integer_value(json_object_get(device, "gsi")));
        if (bytes > 0)
            fprintf(to, ", %lld bytes", (long long)bytes);
        fprintf(to, "%s\n", json_is_true(json_object_get(device, "readonly")) ? ", read-only" : "");
    }
}

static void print_process(const json_t *process, FILE *to)
{
    json_t *value;
    const char *key;
    size_t i;

    fprintf(to, "process %s\n", json_string_value(json_object_get(process, "name")));
    json_object_foreach(json_object_get(process, "fds"), key, value)
        fprintf(to, "  fd %-4s %s\n", key, json_string_value(value));
    fprintf(to, "  jail   ");
    json_array_foreach(json_object_get(process, "controls"), i, value)
        fprintf(to, " %s", json_string_value(value));
    fprintf(to, "\n  at most");
    json_object_foreach(json_object_get(process, "resource_limits"), key, value)
        fprintf(to, " %s=%lld", key, (long long)json_integer_value(value));
    fprintf(to, "\n");
}

void show_plan_print(const json_t *plan, FILE *to)
{
    const json_t *jail = json_object_get(plan, "jail");
    const char *problem = json_string_value(json_object_get(jail, "problem"));
    json_t *process, *value;
    const char *key;
    size_t i;

    fprintf(to, "\nmachine: %lld vCPU, %lld MiB RAM, described by %s\n",
        (long long)json_integer_value(json_object_get(plan, "vcpus")),
        (long long)json_integer_value(json_object_get(plan, "memory_bytes")) / (long long)MIB,
        json_string_value(json_object_get(plan, "hardware")));
    fprintf(to, "kernel command line: %s\n",
        json_string_value(json_object_get(plan, "kernel_cmdline")));
    fprintf(to, "devices\n");
    print_devices(json_object_get(plan, "devices"), to);
    fprintf(to, "jails: %s%s%s%s\n", json_string_value(json_object_get(jail, "ground")),
        json_is_true(json_object_get(jail, "refused")) ? ", and a run would be refused" : "",
        problem ? ": " : "", problem ? problem : "");
    json_array_foreach(json_object_get(plan, "processes"), i, process) print_process(process, to);
    fprintf(to, "limits\n");
    json_object_foreach(json_object_get(plan, "limits"), key, value)
        fprintf(to, "  %-22s %lld\n", key, (long long)json_integer_value(value));
}
