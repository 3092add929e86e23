#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The jails of real runs: what the result says of them, and what happens where there can be none.
# tests/jail/ tries them from inside.

load e2e.bash

# What each process must have, and one thing more.
due='["cgroup_namespace","empty_root","exact_fds","ipc_namespace","mount_namespace","net_namespace",
"no_capabilities","no_new_privs","not_dumpable","pid_namespace","rlimits","seccomp","uts_namespace"]'

@test "every process is in its jail, and the result says with what" {
    local extra
    task 'sh -c "echo x >f"' '[artifacts]' 'collect = f'
    run_task
    expect ok 0
    if ((EUID == 0)); then
        [[ $(result .controls_active.jail.ground) == root ]]
        [[ $(result .controls_active.jail.uid_is_shared) == false ]]
        [[ $(result .controls_active.jail.uid) -ge 1900000000 ]]
        extra=own_uid
    else
        [[ $(result .controls_active.jail.ground) == user_namespace ]]
        [[ $(result .controls_active.jail.uid_is_shared) == true ]]
        [[ $(result .controls_active.jail.uid) == "$EUID" ]]
        extra=user_namespace
    fi
    # Where the kernel has it: the only one that is reported, not read back.
    (($(result .controls_active.jail.landlock_abi) == 0)) || due=$(jq -c '. + ["landlock"]' <<<"$due")
    [[ $(result '.controls_active.jail.reported | join(" ")') == landlock ]]
    for process in monitor scribe extractor; do
        [[ $(result "(.controls_active.jail.$process | sort) == ($due + [\"$extra\"] | sort)") == true ]]
    done
    [[ $(result '.controls_active.jail.given_up | length') == 0 ]]
    [[ $(stat -c %u "$T/out/artifacts" "$T/out/artifacts/f" | sort -u) == "$EUID" ]]
    # What --plan said that there would be.
    "$VMRUN" --config "$T/task.ini" --output "$T/other" --plan --json >"$T/stdout"
    for process in monitor scribe extractor; do
        [[ $(jq -c --arg name "vmrun-$process" '.plan.processes[] | select(.name == $name) | .controls | sort' \
            "$T/stdout") == "$(result ".controls_active.jail.$process | sort | tojson")" ]]
    done
}

@test "while a task runs, its processes are what the result will say" {
    local name pid thread
    task 'sleep 60' '[limits]' 'wall = 60s'
    "$VMRUN" --config "$T/task.ini" --set limits.boot=60s >"$T/stdout" 2>"$T/stderr" &
    local vmrun=$!
    for _ in {1..600}; do
        [[ $(grep -h Seccomp: /proc/$(pgrep -P "$vmrun" vmrun-monitor)/task/*/status 2>/dev/null |
            grep -c 2) == 2 ]] && break
        sleep 0.1
    done
    for name in vmrun-monitor vmrun-scribe; do
        pid=$(pgrep -P "$vmrun" -x "$name")
        for thread in /proc/"$pid"/task/*; do
            grep -qE '^Seccomp:\s2$' "$thread/status"
            grep -qE '^NoNewPrivs:\s1$' "$thread/status"
            grep -qE '^CapBnd:\s0+$' "$thread/status"
        done
        [[ $(awk '/^NSpid/ {print $NF}' "/proc/$pid/status") == 1 ]]
    done
    [[ $(ls /proc/"$(pgrep -P "$vmrun" -x vmrun-monitor)"/task | wc -l) == 2 ]]
    kill -TERM "$vmrun"
    wait "$vmrun" || [[ $? == 143 ]]
}

# as_user CMD...: as uid 1000 in the group of /dev/kvm.
as_user() {
    setpriv --reuid 1000 --regid 1000 --groups "$(stat -c %g /dev/kvm)" "$@"
}

@test "without namespaces a run is refused, with the remedy, unless weaker jails are asked for" {
    local status=0
    ((EUID == 0)) || skip "only root can forbid namespaces"
    task 'echo hi'
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test "$T"
    chown -R 1000 "$T"
    echo 0 >/proc/sys/user/max_user_namespaces
    as_user "$VMRUN" --config "$T/task.ini" >"$T/stdout" 2>"$T/stderr" || status=$?
    [[ $status == 125 ]]
    grep -q 'user.max_user_namespaces' "$T/stderr"
    grep -q 'allow_weaker_jail' "$T/stderr"
    status=0
    as_user "$VMRUN" --config "$T/task.ini" --output "$T/weak" --set limits.boot=60s --set machine.allow_weaker_jail=yes \
        >"$T/stdout" 2>"$T/stderr" || status=$?
    echo 10000 >/proc/sys/user/max_user_namespaces
    cat "$T/stderr"
    [[ $status == 0 && $(cat "$T/stdout") == hi ]]
    grep -q 'jails are weaker' "$T/stderr"
    keep_result "$T/weak"
    [[ $(jq -r .controls_active.jail.ground "$T/weak/result.json") == weaker ]]
    [[ $(jq -r '.controls_active.jail.given_up | index("pid_namespace")' "$T/weak/result.json") != null ]]
    [[ $(jq -r '.controls_active.jail.monitor | index("seccomp")' "$T/weak/result.json") != null ]]
}

@test "root: each run at once has a user ID of its own, and the range has an end" {
    ((EUID == 0)) || skip "only root has user IDs to give"
    task 'sleep 20'
    "$VMRUN" --config "$T/task.ini" --set machine.jail_uids=1900000005-1900000005 -q &
    local first=$! status=0
    for _ in {1..600}; do
        pgrep -P "$first" -x vmrun-monitor >/dev/null && break
        sleep 0.1
    done
    "$VMRUN" --config "$T/task.ini" --output "$T/second" \
        --set machine.jail_uids=1900000005-1900000005 2>"$T/stderr" || status=$?
    [[ $status == 125 && ! -e $T/second ]]
    grep -q 'jail_uids' "$T/stderr"
    [[ $(awk '/^Uid/ {print $2}' "/proc/$(pgrep -P "$first" -x vmrun-scribe)/status") == 1900000005 ]]
    kill -TERM "$first"
    wait "$first" || true
}

# in_cgroup BASE CMD... &: $! is CMD, alone in the cgroup BASE.
in_cgroup() {
    exec sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$@"
}

# Wait until, while $vmrun runs, N cgroups of runs below $base have limits; they are in $limits.
await_limits() {
    while kill -0 "$vmrun"; do
        limits=$(find "$base" -path '*/vmrun-*' ! -path '*.self*' -name pids.max -exec cat {} + 2>/dev/null) || true
        [[ $(grep -cE '^[0-9]+$' <<<"$limits") == "$1" ]] && return
        sleep 0.1
    done
    echo "limits: $limits"
    cat "$T/stderr"
    return 1
}

# Start the task alone in $base, as $vmrun, and wait for the limits of its cgroup.
start_in_base() {
    in_cgroup "$base" "$VMRUN" --config "$T/task.ini" --set limits.boot=60s >"$T/stdout" 2>"$T/stderr" &
    vmrun=$!
    await_limits 1
}

# A cgroup to delegate: made by root, or in the lab a part of the one that was delegated to us, out of
# whose way everybody goes first.
make_base() {
    local ours=/sys/fs/cgroup pid tries=0
    if ((EUID != 0)); then
        [[ ${VMRUN_LAB:-} ]] || skip "to make room in a user's cgroup would move others"
        ours+=$(sed 's/^0:://; s,/rest$,,' /proc/self/cgroup)
        mkdir -p "$ours/rest"
        # Again, as what was read may have started others meanwhile.
        until echo '+memory +pids +cpu' >"$ours/cgroup.subtree_control"; do
            while read -r pid; do
                echo "$pid" >"$ours/rest/cgroup.procs" || true
            done <"$ours/cgroup.procs"
            ((++tries < 20))
        done 2>/dev/null
    fi
    base=$ours/jail-test
    mkdir "$base" 2>/dev/null && grep -q memory "$base/cgroup.controllers" ||
        skip "no cgroup v2 to delegate"
}

@test "alone in a delegated cgroup, the children get one with limits, and it goes with the run" {
    local base limits vmrun
    make_base
    task 'sleep 3'
    start_in_base
    wait "$vmrun"
    keep_result "$T/out"
    [[ $limits == 11 ]]
    [[ $(result '.controls_active.jail.monitor | index("cgroup")') != null ]]
    [[ $(result '.controls_active.jail.scribe | index("cgroup")') != null ]]
    [[ $(result '.controls_active.jail.cgroup | [.version, .active, .pids_max]' | jq -c .) == '["v2",true,11]' ]]
    [[ -z $(find "$base" -mindepth 1 -type d) ]]
    rmdir "$base"
}

@test "each of several runs has its own cgroup beside the others" {
    local base limits vmrun i
    make_base
    task 'sleep 6'
    for i in 1 2; do
        sed "s/^name = .*/name = run-$i/" "$T/task.ini" >"$T/$i.ini"
    done
    in_cgroup "$base" "$VMRUN" --jobs 2 --config "$T/1.ini" --config "$T/2.ini" --output "$T/results" \
        --set machine.memory=96M --set limits.boot=100s >"$T/stdout" 2>"$T/stderr" &
    vmrun=$!
    await_limits 2
    wait "$vmrun"
    for i in 1 2; do
        keep_result "$T/results/run-$i"
        [[ $(jq -c '.controls_active.jail | [.cgroup.active, (.monitor | index("cgroup") != null)]' \
            "$T/results/run-$i/result.json") == '[true,true]' ]]
    done
    [[ -z $(find "$base" -mindepth 1 -type d) ]]
    rmdir "$base"
}

@test "gc removes the cgroup of a run that was killed" {
    local base limits vmrun
    make_base
    task 'sleep 60'
    start_in_base
    kill -KILL "$vmrun"
    wait "$vmrun" || true
    for _ in {1..100}; do
        [[ $(find "$base" -name cgroup.procs -exec cat {} +) ]] || break
        sleep 0.1
    done
    [[ $(find "$base" -mindepth 1 -type d | wc -l) == 2 ]]
    "$VMRUN" gc --dry-run 2>&1 | grep -q 'would remove its cgroup'
    "$VMRUN" gc --verbose 2>&1 | grep -q 'removes its cgroup'
    [[ -z $(find "$base" -mindepth 1 -type d) ]]
    [[ -z $(cat "$base/cgroup.subtree_control") ]]
    rmdir "$base"
}

@test "the result says why there is no cgroup: vmrun is not alone in its own" {
    task 'true'
    run_task
    expect ok 0
    [[ $(result .controls_active.jail.cgroup.version) == v2 ]] || skip "the host has no cgroup v2"
    [[ $(result .controls_active.jail.cgroup.active) == false ]]
    [[ $(result .controls_active.jail.cgroup.unused_because) == *"not alone"* ]]
}
