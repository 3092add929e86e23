/* SPDX-License-Identifier: Apache-2.0 */
/* result_controls.c: what held the task and our own children; see result_parts.h. */
#include "jail/proof.h"
#include "jail/root.h"
#include "jail/sanitized.h"
#include "supervisor/result_parts.h"

static json_t *control_names(uint32_t controls)
{
    json_t *list = json_array();

    for (size_t i = 0; i < JAIL_CONTROLS; i++) {
        if (controls & (1U << i))
            json_array_append_new(list, json_string(jail_control_names[i]));
    }
    return list;
}

/* Of all children together; see jail/cgroup.h. */
static json_t *result_cgroup(const struct outcome_cgroup *cgroup)
{
    static const char *const versions[] = {
        [CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2"};
    json_t *object = json_object();

    put_text(object, "version", versions[cgroup->kind]);
    put(object, "active", json_boolean(cgroup->active));
    put_text(object, "unused_because", cgroup->active ? NULL : cgroup->unused);
    if (cgroup->active) {
        put_number(object, "memory_max_bytes", cgroup->limits.memory_bytes);
        put_number(object, "pids_max", cgroup->limits.processes);
        put_number(object, "cpus_max", cgroup->limits.cpus);
    }
    return object;
}

static uint32_t given_up(const struct outcome *outcome)
{
    uint32_t controls = SANITIZED ? JAIL_CONTROL_SECCOMP | JAIL_CONTROL_RLIMITS : 0;

    if (outcome->jail_kind == JAIL_WEAK)
        controls |= jail_controls_due(JAIL_USER, outcome->jail_uid) &
                    ~jail_controls_due(JAIL_WEAK, outcome->jail_uid);
    return controls;
}

/* What was read back of each child; see jail/proof.h. */
static json_t *result_jail(const struct outcome *outcome)
{
    static const char *const grounds[] = {
        [JAIL_WEAK] = "weaker", [JAIL_USER] = "user_namespace", [JAIL_ROOT] = "root"};
    static const char *const names[OUTCOME_JAILS] = {"monitor", "scribe", "extractor", "salvager"};
    json_t *object;

    if (outcome->jail_kind < JAIL_WEAK || outcome->jail_kind > JAIL_ROOT)
        return json_null();
    object = json_object();
    put_text(object, "ground", grounds[outcome->jail_kind]);
    put_number(object, "uid", outcome->jail_uid);
    put(object, "uid_is_shared", json_boolean(outcome->jail_kind != JAIL_ROOT));
    for (size_t i = 0; i < OUTCOME_JAILS; i++)
        put(object, names[i],
            outcome->jails[i].proven ? control_names(outcome->jails[i].controls) : json_null());
    put(object, "given_up", control_names(given_up(outcome)));
    put(object, "reported", control_names(JAIL_CONTROLS_REPORTED));
    put_number(object, "landlock_abi", (uint64_t)landlock_abi());
    put(object, "cgroup", result_cgroup(&outcome->cgroup));
    return object;
}

json_t *result_controls(const struct outcome *outcome)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } controls[] = {{WIRE_CONTROL_CGROUP, "cgroup"}, {WIRE_CONTROL_MEMORY_MAX, "memory_max"},
        {WIRE_CONTROL_PIDS_MAX, "pids_max"}, {WIRE_CONTROL_UID, "uid"},
        {WIRE_CONTROL_NO_NEW_PRIVS, "no_new_privs"}, {WIRE_CONTROL_NO_CAPS, "no_capabilities"},
        {WIRE_CONTROL_NAMESPACES, "namespaces"}, {WIRE_CONTROL_SECCOMP, "seccomp"},
        {WIRE_CONTROL_ROOT_READONLY, "root_readonly"}, {WIRE_CONTROL_RLIMITS, "rlimits"}};
    json_t *object = json_object();
    json_t *claimed = json_array();

    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
        if (outcome->has_started && (outcome->started.controls & controls[i].bit))
            json_array_append_new(claimed, json_string(controls[i].name));
    }
    put(object, "claimed_by_guest", claimed);
    put(object, "jail", result_jail(outcome));
    return object;
}
