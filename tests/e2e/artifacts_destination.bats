#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where artifacts go: nothing is replaced, nothing half-made is published, and vmrun says so with 125.

load e2e.bash
load artifacts/artifacts.bash

# A task that says when it runs, waits a little, and leaves 4 MiB in several files.
slow_task() {
    task "sh -c 'echo ready; sleep 3; mkdir out; for i in 1 2 3 4; do head -c 1M /dev/urandom >out/\$i; done'" \
        '[limits]' 'boot = 60s' '[artifacts]' 'collect = out' "$@"
}

# start [OPTIONS]: in the background; returns when the task runs.
start() {
    "$VMRUN" --config "$T/task.ini" "$@" >"$T/stdout" 2>"$T/stderr" 3>&- &
    pid=$!
    until grep -q ready "$T/stdout"; do
        kill -0 "$pid"
        sleep 0.1
    done
}

finish() {
    status=0
    wait "$pid" || status=$?
}

nothing_half_made() {
    [[ -z $(find "$T/out" -name '.*') ]]
}

@test "a destination that appeared meanwhile is not replaced, be it empty or not" {
    slow_task
    start
    mkdir "$T/out/artifacts"
    echo mine >"$T/out/artifacts/file"
    finish
    keep_result "$T/out"
    expect infra 125
    [[ $(result .reason) == *'cannot publish artifacts'*'File exists'* ]]
    [[ $(result .artifacts.status) == failed && $(cat "$T/out/artifacts/file") == mine ]]
    [[ $(ls "$T/out/artifacts") == file ]]
    expect_manifest <<<"failed 0 0 0 $(result .artifacts.reason)"
    nothing_half_made
    rm -r "$T/out"
    start
    mkdir "$T/out/artifacts"
    finish
    expect infra 125
    [[ -z $(ls -A "$T/out/artifacts") ]]
    nothing_half_made
}

@test "a manifest or a bundle that appeared meanwhile is not replaced either" {
    slow_task
    start
    echo mine >"$T/out/manifest.json"
    finish
    expect infra 125
    [[ $(cat "$T/out/manifest.json") == mine && -z $(ls -A "$T/out/artifacts") ]]
    nothing_half_made
    rm -r "$T/out"
    start --set artifacts.bundle=tar.gz
    echo mine >"$T/out/artifacts.tar.gz"
    finish
    expect infra 125
    [[ $(cat "$T/out/artifacts.tar.gz") == mine ]]
    [[ $(jq -r .status "$T/out/manifest.json") == failed ]]
    nothing_half_made
}

@test "a full disk: infra, and the half-written artifacts are gone" {
    slow_task
    for bundle in no tar.gz; do
        mkdir "$T/small"
        mount -t tmpfs -o size=2M none "$T/small"
        status=0
        "$VMRUN" --config "$T/task.ini" --output "$T/small/out" --set artifacts.bundle=$bundle \
            >"$T/stdout" 2>"$T/stderr" || status=$?
        T=$T/small expect infra 125
        jq -e '.artifacts.status == "failed" and (.artifacts.reason | test("No space left"))' \
            "$T/small/out/result.json"
        [[ -z $(find "$T/small/out" -name '.*' -o -path '*/artifacts*' -type f) ]]
        jq -e '.status == "failed" and .entries == []' "$T/small/out/manifest.json"
        umount "$T/small"
        rmdir "$T/small"
    done
}

@test "a destination that is read-only: 125, and nothing there" {
    slow_task
    mkdir "$T/ro"
    mount -t tmpfs none "$T/ro"
    mount -o remount,ro "$T/ro"
    status=0
    "$VMRUN" --config "$T/task.ini" --output "$T/ro/out" >"$T/stdout" 2>"$T/stderr" || status=$?
    cat "$T/stderr"
    [[ $status == 125 && -z $(ls -A "$T/ro") ]]
    grep -q 'Read-only file system' "$T/stderr"
    umount "$T/ro"
}

@test "kill -9 while the guest exports: nothing is published" {
    export XDG_RUNTIME_DIR=$T/runtime
    mkdir -m 700 "$XDG_RUNTIME_DIR"
    task "sh -c 'mkdir out; for i in \$(seq 300); do head -c 64K /dev/zero >out/\$i; done'" \
        '[limits]' 'boot = 60s' '[artifacts]' 'collect = out'
    mkfifo "$T/events"
    "$VMRUN" --events --config "$T/task.ini" >"$T/events" 2>"$T/stderr" 3>&- &
    pid=$!
    exec 5<"$T/events"
    while read -r line <&5; do # no fork here: the export is short
        [[ $line == *'"exited"'* ]] && break
    done
    [[ $line == *'"exited"'* ]]
    kill -KILL "$pid"
    wait "$pid" || true
    for _ in $(seq 100); do
        pgrep '^vmrun' >/dev/null || break
        sleep 0.1
    done
    [[ ! -e $T/out/artifacts && ! -e $T/out/manifest.json && ! -e $T/out/result.json ]]
    "$VMRUN" gc
    nothing_half_made
    [[ -z $(ls -A "$T/disks") ]]
}
