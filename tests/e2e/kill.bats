#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 of each process of a run, at points that are certainly hit: before the N-th system call of
# its life (kill_at.c). A life is cut into twenty parts with one point in each; KILL_SEED=N repeats
# the points, VMRUN_LONG=1 takes all twenty instead of five.

load e2e.bash

KILL_AT=$PWD/build/e2e/kill_at
FILES=20

setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks" "$T/in"
    own_runtime
    for i in $(seq $FILES); do printf %2000s "$i" >"$T/in/$i"; done
    task 'sh -c "echo begin; cp -r in out; echo end"' \
        '[input]' "in = $T/in" '[artifacts]' 'collect = out'
}

# killed NAME N: a run of which NAME is killed at N (0: never); $status, $hit, $calls, $call, $ms. It
# may take 90 s on a busy host, then it is taken for one that hangs, and makes no report.
killed() {
    local begin
    rm -rf "$T/out" "$T/report"
    begin=$(date +%s%N)
    status=0
    timeout 90 "$KILL_AT" "$T/report" "$1" "$2" "$VMRUN" --config "$T/task.ini" -q \
        --set limits.boot=60s >/dev/null 2>"$T/stderr" 3>&- || status=$?
    ms=$((($(date +%s%N) - begin) / 1000000))
    read -r hit calls call <"$T/report"
    keep_result "$T/out"
}

# The points of NAME: 1 + its number of system calls x (0 to 19 twentieths and something).
points_of() {
    local parts=() part
    if [[ ${VMRUN_LONG:-} ]]; then
        parts=($(seq 0 19))
    else
        for part in 0 1 2 3 4; do parts+=($((4 * part + RANDOM % 4))); done
    fi
    killed "$1" 0
    [[ $status == 0 && $hit == missed ]]
    whole_calls=$calls
    points=()
    for part in "${parts[@]}"; do
        points+=($((1 + calls * part / 20 + RANDOM % (calls / 20))))
    done
}

# Kill NAME at each of its points and have CHECK judge what there is then.
each_point() {
    local name=$1 check=$2 point try
    local seed=${KILL_SEED:-$RANDOM}
    RANDOM=$seed
    points_of "$name"
    mounts=$(wc -l </proc/self/mountinfo)
    echo "# $name: seed $seed, $whole_calls system calls, killed before: ${points[*]}" >&3
    for point in "${points[@]}"; do
        # No two runs make the same number of calls; the last ones may not be reached.
        for try in 1 2 3 4 5; do
            killed "$name" "$point"
            [[ $hit == missed ]] || break
            point=$((point - 1 - RANDOM % (whole_calls / 20)))
        done
        echo "$name, point $point of $whole_calls: $hit in call $call, exit $status, $ms ms"
        [[ $hit == killed && $calls == "$point" ]]
        "$check"
        [[ -z $(ls -A "$T/disks") && $(wc -l </proc/self/mountinfo) == "$mounts" ]]
    done
}

# What has been published is all of it, or nothing.
artifacts_are_whole_or_none() {
    [[ -z $(find "$T/out" -name '.*.partial' 2>/dev/null) ]]
    [[ -z $(ls -A "$T/out/artifacts" 2>/dev/null) ]] || diff -r "$T/in" "$T/out/artifacts/out"
}

# vmrun lives: there is a result, which names NAME and how it ended; or NAME had no more to do, and
# everything that was asked for is there.
judge_helper() {
    local name=$1 infra=$2
    [[ $(runs) == 0 ]]
    no_vmrun
    artifacts_are_whole_or_none
    if [[ $(result .status) == ok ]]; then
        [[ $status == 0 && $(cat "$T/out/stdout") == $'begin\nend' && -d $T/out/artifacts/out ]]
        ((++finished))
    else
        expect infra 125
        result .reason
        [[ $(result .reason) == "$infra ($name was killed by signal 9 (Killed))" ]]
        [[ $(result .limit) == null ]]
        [[ $(cat "$T/stderr") == "vmrun: infra: $(result .reason)" ]]
        ((++failed))
    fi
}

# A helper that dies has nearly always something left to do.
nearly_all_failed() {
    echo "# $failed ended the run, $finished came when all was done" >&3
    ((failed >= 4 * (failed + finished) / 5))
}

judge_monitor() { judge_helper vmrun-monitor 'the monitor failed'; }
judge_scribe() { judge_helper vmrun-scribe 'the output could not be recorded'; }
judge_extractor() { judge_helper vmrun-extractor 'the artifacts could not be written'; }

@test "the monitor is killed: infra, with its name, and nothing is left" {
    failed=0 finished=0
    each_point vmrun-monitor judge_monitor
    nearly_all_failed
}

@test "the scribe is killed: infra, with its name, and nothing is left" {
    failed=0 finished=0
    each_point vmrun-scribe judge_scribe
    nearly_all_failed
}

@test "the extractor is killed: infra, with its name, and no artifact is published" {
    failed=0 finished=0
    each_point vmrun-extractor judge_extractor
    nearly_all_failed
}

judge_supervisor() {
    local left
    [[ $status == 137 ]]
    # Its helpers die with it; a kernel needs a moment to take a machine down.
    wait_for 3 no_vmrun
    left=$(runs)
    # The run directory comes before the output directory, and goes after the result.
    [[ $left == 1 || ($left == 0 && (! -e $T/out || -e $T/out/result.json)) ]]
    [[ ! -e $T/out/result.json ]] || result .status
    "$VMRUN" gc >"$T/gc" 2>&1
    if [[ $left == 1 ]]; then
        grep -q '1 run directory removed' "$T/gc"
        ((++one_left))
    else
        grep -q 'nothing to remove' "$T/gc"
    fi
    "$VMRUN" gc 2>&1 | grep -q 'nothing to remove'
    [[ $(runs) == 0 ]]
    artifacts_are_whole_or_none
}

@test "the supervisor is killed: no process, one run directory and no more, and gc removes it" {
    one_left=0
    each_point vmrun judge_supervisor
    echo "# $one_left left a run directory" >&3
    ((one_left >= ${#points[@]} * 2 / 5))
}

# As root: nobody else can look into a process that is not dumpable.
@test "each child holds the lock of the run" {
    task 'sleep 60'
    "$VMRUN" --config "$T/task.ini" -q --set limits.boot=60s >/dev/null 2>"$T/stderr" 3>&- &
    pid=$!
    wait_for 10 pgrep '^vmrun-monitor' >/dev/null
    lock=$(echo "$B"/run-*/lock)
    for name in vmrun-monitor vmrun-scribe; do
        child=$(pgrep "^$name" | head -n 1)
        [[ $(readlink "/proc/$child/fd/24") == "$lock" ]]
    done
    kill -TERM "$pid"
    wait "$pid" || true
    [[ $(runs) == 0 ]]
}
