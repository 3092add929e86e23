#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Guests whose PID 1 does not keep to the rules (tests/guest-agents/actor.c): what the host enforces
# by itself, and that lies and crashes get the verdict that they deserve.

load e2e.bash

# act "PART" [LINE...]: a task for the actor.
act() {
    task "$@"
    sed -i "/^\[machine\]/a initramfs = $PWD/build/e2e/actor.cpio" "$T/task.ini"
    rm -rf "$T/out"
}

# ended_by_host LIMIT: the verdict of a limit that the host had to enforce.
ended_by_host() {
    expect limit 124
    [[ $(result .limit) == "$1" && $(result '.limits_hit | join(" ")') == "$1" ]]
    [[ $(result .reason) == *"the guest did not end it: the host did"* ]]
    # The guest said nothing of the task's end, and nothing is made up.
    [[ $(result .exit_code) == null && $(result .signal) == null && $(result .time.export_ms) == null ]]
}

# How long the task had, in ms, with the end of the machine: the guest's own word is missing.
had_ms() {
    result '.time | .total_ms - .prepare_ms - .launch_ms - .boot_ms - .setup_ms'
}

@test "wall: the host ends a guest that does not, two seconds later" {
    act 'started wait' '[limits]' 'wall = 1s'
    run_task
    ended_by_host wall
    between 3000 "$(had_ms)" 15000
}

@test "cpu: the host ends a guest that does not, by the clock of the monitor" {
    act 'started spin' '[limits]' 'cpu = 1s'
    run_task
    ended_by_host cpu
    # 1 s, a quarter more, and 2 s for its one processor; what came before the task is not counted.
    between 3250 "$(result .host_measured.monitor_cpu_ms)" 30000
}

@test "cpu: a guest that does nothing is not ended for it" {
    act 'started sleep=4500 exited exported' '[limits]' 'cpu = 1s'
    run_task
    [[ $(result .limit) == null ]]
    between 4500 "$(had_ms)" 60000
}

@test "idle: the host ends a silent guest; one that talks goes on" {
    act 'started say=x wait' '[limits]' 'idle = 1s'
    run_task
    ended_by_host idle
    [[ $(cat "$T/out/stdout") == x ]]
    # A look each 3 s, which says only whether there was output since the one before.
    between 3000 "$(had_ms)" 20000
    act 'started say=a sleep=2000 say=b sleep=2000 say=c sleep=2000 say=d sleep=2000 exited exported' \
        '[limits]' 'idle = 1s'
    run_task
    [[ $(result .limit) == null && $(cat "$T/out/stdout") == abcd ]]
}

@test "a guest that says nothing after HELLO is not the task's fault" {
    act 'wait'
    run_task --set limits.boot=20s
    expect guest_failed 125
    [[ $(result .reason) == "the guest booted, but did not start the task in time" ]]
}

@test "a guest that says nothing after EXITED is ended, and the task's exit is kept" {
    act 'started exited wait'
    run_task
    expect guest_failed 125
    [[ $(result .reason) == "the task ended, but the guest did not finish in time" ]]
    [[ $(result .exit_code) == 0 ]]
}

@test "a panic of the guest's kernel is a guest failure, before and in the task" {
    for part in 'leave' 'started leave'; do
        act "$part"
        run_task --console
        expect guest_failed 125
        [[ $(result .limit) == null && -z $(result '.limits_hit | join(" ")') ]]
        [[ $(result .reason) == "the guest reset itself: a kernel panic"* ]]
        grep -q 'Attempted to kill init' "$T/out/console"
    done
}

@test "a guest kernel without memory is no memory limit of the task: it is a guest failure" {
    act 'started hog'
    run_task --console
    expect guest_failed 125
    [[ $(result .limit) == null && -z $(result '.limits_hit | join(" ")') ]]
    # What the kernel said is in the diagnosis.
    grep -q 'console: .*Out of memory\|console: .*deadlocked on memory' "$T/stderr"
    # Its size bounds what it could take from the host.
    between 0 "$(result .host_measured.monitor_peak_rss_bytes)" $(((256 + 32) << 20))
}

@test "a memory limit that the guest's kernel could not keep is refused before anything starts" {
    task 'true' '[limits]' 'memory = 250M'
    run_task --check
    [[ $status == 125 && ! -e $T/out ]]
    grep -q 'memory.*\[machine\] memory' "$T/stderr"
}

@test "messages out of order, twice, or of no known type: the protocol is broken, and it is said" {
    for part in 'exported wait' 'hello wait' 'unknown wait' 'started started wait' \
        'started exported wait' 'started exited exited wait' 'started exited started wait'; do
        act "$part"
        run_task
        echo "$part"
        result '.reason'
        expect guest_failed 125
        [[ $(result .reason) == "the guest broke the protocol with the host ("*")" ]]
    done
}

# cancelled SIGNALS: $took, the time in ms from the first signal to the end of vmrun.
cancelled() {
    local begin
    act 'started say=ready wait'
    env --default-signal=INT "$VMRUN" --config "$T/task.ini" --set limits.boot=60s --events \
        >"$T/stdout" 2>"$T/stderr" 3>&- &
    local pid=$!
    wait_for 60 grep -qs ready "$T/out/stdout"
    begin=$(date +%s%N)
    kill -INT "$pid"
    if [[ $1 == 2 ]]; then
        until [[ $(<"$T/stderr") == *cancelling* ]]; do # no new process: the time is short
            kill -0 "$pid"
        done
        kill -INT "$pid"
    fi
    status=0
    wait "$pid" || status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    echo "$1 signals: $took ms"
    expect cancelled 130
    [[ $(result .exit_code) == null && $(result .signal) == null && $(result .time.export_ms) == null ]]
    no_vmrun
    [[ -z $(ls -A "$T/disks") ]]
    # Whether the machine was halted, and the monitor had its last word, or was killed.
    machine=$(result .monitor_claims)
}

@test "a guest that is deaf to a cancel has five seconds; the second signal takes them away" {
    cancelled 1
    ((took >= 5000)) && [[ $machine != null ]]
    cancelled 2
    [[ $machine == null ]]
}
