#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that ends badly or not at all: a verdict in time, and the host's processor and memory are
# what the guest was given.

load hostile.bash

# ends STATUS EXIT REASON
ends() {
    [[ $(result .status) == "$1" && $status == "$2" ]] || fail "not $1 and exit $2"
    [[ $(result .reason) =~ $3 ]] || fail "the reason does not say '$3'"
}

@test "a triple fault" {
    villain triple-fault
    ends guest_failed 125 'triple fault'
}

@test "a push without a stack" {
    villain stack
    ends guest_failed 125 'triple fault'
}

@test "code fetched from where there is no memory" {
    villain fetch
    ends guest_failed 125 'KVM|triple fault'
}

@test "an endless loop without interrupts ends with the boot limit" {
    villain loop --set limits.boot=2s
    ends limit 124 'boot'
    [[ $(result .limit) == boot ]]
}

@test "HLT without interrupts ends with the boot limit, and takes no processor" {
    villain halt --set limits.boot=2s
    ends limit 124 'boot'
    [[ $(result '.host_measured.monitor_cpu_ms < 1500') == true || ${VMRUN_BIN:-} ]]
}

@test "exits without end end with the boot limit" {
    villain exits --set limits.boot=2s
    ends limit 124 'boot'
}

@test "doorbells without end, of a broken queue and of none, end with the boot limit" {
    villain kicks --set limits.boot=2s
    ends limit 124 'boot'
}

@test "resets without end end with the boot limit" {
    villain resets --set limits.boot=2s
    ends limit 124 'boot'
}

@test "the monitor's descriptors stay the same while its devices are reset without end" {
    local pid before after vmrun
    printf 'resets\n' >"$T/words"
    villain triple-fault # writes the task
    printf 'resets\n' >"$T/words"
    rm -rf "$T/out"
    "$VMRUN" -q --config "$T/task.ini" --set limits.boot=20s >"$T/stdout" 2>"$T/stderr" &
    vmrun=$!
    for ((i = 0; i < 100; i++)); do
        pid=$(pgrep -P "$vmrun" -x vmrun-monitor) && break
        sleep 0.1
    done
    sleep 1
    before=$(ls "/proc/$pid/fd" | wc -l)
    sleep 2
    after=$(ls "/proc/$pid/fd" | wc -l)
    kill -TERM "$vmrun"
    wait "$vmrun" || true
    ((before > 5 && before == after))
}
