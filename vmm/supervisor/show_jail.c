/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show_jail.c: the jails of a run that is not made; see show.h. What is due of each process, which
 * a run reads back before it goes on, and what the kernel would grant it at most.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"
#include "jail/cgroup.h"
#include "jail/proof.h"
#include "supervisor/disks.h"
#include "supervisor/jail_limits.h"
#include "supervisor/result_parts.h"
#include "supervisor/show.h"
#include "supervisor/supervise_internal.h"

/* Tried, not only asked for. WHY says what is in the way; JAIL_WEAK then. */
static enum jail_ground_kind ground_kind(struct err *why)
{
    enum jail_ground_kind kind = geteuid() == 0 ? JAIL_ROOT : JAIL_USER;

    return jail_ground_try(kind, why) < 0 ? JAIL_WEAK : kind;
}

json_t *show_jail_make(const struct config *config, enum jail_ground_kind *kind)
{
    static const char *const names[] = {
        [JAIL_WEAK] = "weaker", [JAIL_USER] = "user_namespace", [JAIL_ROOT] = "root"};
    const struct jail_cgroup_limits limits = jail_limits_cgroup(config);
    json_t *jail = json_object(), *cgroup = json_object();
    struct err why = ERR_INIT;

    *kind = ground_kind(&why);
    put_text(jail, "ground", names[*kind]);
    put_text(jail, "problem", err_is_set(&why) ? why.text : NULL);
    put(jail, "refused", json_boolean(*kind == JAIL_WEAK && !config->allow_weaker_jail));
    put_number(cgroup, "memory_bytes", limits.memory_bytes);
    put_number(cgroup, "processes", limits.processes);
    put_number(cgroup, "cpus", limits.cpus);
    put(jail, "cgroup_where_delegated", cgroup);
    return jail;
}

static json_t *limits_of(const struct jail_order *order)
{
    static const struct {
        uint32_t resource;
        const char *name;
    } names[] = {{RLIMIT_CORE, "core_bytes"}, {RLIMIT_MEMLOCK, "locked_bytes"},
        {RLIMIT_AS, "address_space_bytes"}, {RLIMIT_DATA, "data_bytes"},
        {RLIMIT_FSIZE, "file_bytes"}, {RLIMIT_NOFILE, "open_files"}, {RLIMIT_CPU, "cpu_s"},
        {RLIMIT_NPROC, "processes"}};
    json_t *limits = json_object();

    for (uint32_t i = 0; i < order->limit_count; i++) {
        size_t k = 0;

        while (names[k].resource != order->limits[i].resource) {
            k++;
            must(k < sizeof(names) / sizeof(names[0])); /* a limit without a name */
        }
        put_number(limits, names[k].name, order->limits[i].value);
    }
    return limits;
}

void show_jail_of(json_t *process, const struct config *config, enum jail_ground_kind kind,
    const struct jail_order *order)
{
    uid_t uid = kind == JAIL_ROOT ? config->first_uid : geteuid();
    uint32_t due = jail_controls_due(kind, uid);
    json_t *controls = json_array();

    for (size_t i = 0; i < JAIL_CONTROLS; i++) {
        if (due & (1U << i))
            json_array_append_new(controls, json_string(jail_control_names[i]));
    }
    put(process, "controls", controls);
    put(process, "resource_limits", limits_of(order));
}

void show_jail_orders(const struct config *config, struct jail_order orders[SHOW_PROCESSES])
{
    uint64_t disk_bytes = config->disk_bytes, export_bytes = disk_export_bytes(config);

    if (export_bytes > disk_bytes)
        disk_bytes = export_bytes;
    /* The import disk is not made yet; the monitor only reads it. */
    jail_limits_monitor(&orders[0], config, disk_bytes, run_host_cpu_ns(config));
    jail_limits_scribe(&orders[1], config, CONSOLE_CAP_BYTES);
    jail_limits_extractor(&orders[2], config);
}
