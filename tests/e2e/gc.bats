#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# lab: --user
#
# Run directories: what a killed run leaves is one of them and nothing else, and gc removes it.
# kill.bats kills at many points; here are single ones.

load e2e.bash

setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks"
    own_runtime
}

# A task that is busy in every phase: inputs, output, some artifacts.
busy_task() {
    mkdir -p "$T/in"
    for i in $(seq 60); do printf %2000s x >"$T/in/$i"; done
    task 'sh -c "echo begin; cp -r in out; echo end"' \
        '[input]' "in = $T/in" '[artifacts]' 'collect = out'
}

start() {
    "$VMRUN" --config "$T/task.ini" -q --set limits.boot=60s "$@" >/dev/null 2>"$T/stderr" 3>&- &
    pid=$!
}

# What is left after a kill, and after gc. gc runs twice: the second finds nothing.
nothing_but_one_run_directory() {
    wait_for 10 no_vmrun || {
        ps -ef | grep '[v]mrun'
        return 1
    }
    [[ -z $(ls -A "$T/disks") && $(runs) == 1 ]]
    "$VMRUN" gc >"$T/gc" 2>&1
    [[ -z $(ls -A "$B" 2>/dev/null) ]]
    [[ -z $(find "$T/out" -name '.*.partial' 2>/dev/null) ]]
    "$VMRUN" gc 2>&1 | grep -q 'nothing to remove'
}

@test "a run has a run directory as long as it goes on, and gc leaves it alone" {
    task 'sleep 2'
    start
    wait_for 10 test -e "$T/out/stdout"
    [[ $(runs) == 1 ]]
    "$VMRUN" gc -v 2>&1 | grep -q 'left alone: the run is going on'
    "$VMRUN" gc -v --dry-run
    [[ $(runs) == 1 && -e $(echo "$B"/run-*/state) ]]
    wait "$pid"
    [[ $(result .status) == ok && $(runs) == 0 ]]
}

@test "killed while the extractor writes: the half-made artifacts go, the logs stay" {
    busy_task
    start
    until compgen -G "$T/out/.artifacts.*.partial" >/dev/null; do # short-lived: no fork here
        kill -0 "$pid"
    done
    kill -KILL "$pid"
    wait "$pid" || true
    [[ -e $T/out/stdout && ! -e $T/out/result.json ]]
    compgen -G "$T/out/.artifacts.*.partial"
    nothing_but_one_run_directory
    [[ -s $T/out/stdout && ! -e $T/out/artifacts ]]
}

@test "a base of somebody else, or open to others, refuses the run" {
    mkdir -m 755 "$B"
    task 'true'
    run_task
    [[ $status == 125 && ! -e $T/out ]]
    grep -q 'chmod 700' "$T/stderr"
    run "$VMRUN" gc
    [[ $status == 125 ]]
}

@test "two runs into one output directory: the second is refused and disturbs nothing" {
    task 'sleep 2'
    start
    "$VMRUN" --config "$T/task.ini" -q --set limits.boot=60s >/dev/null 2>"$T/second" || second=$?
    wait "$pid" || status=$?
    # Either may be the first.
    [[ $((second + status)) == 125 ]]
    [[ $(result .status) == ok && $(runs) == 0 ]]
}
