#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Several tasks in one call: each a run of its own, one summary, one exit code.

load e2e.bash

setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks"
    own_runtime
    configs=()
}

# member NAME COMMAND [LINE...]: one more task of the batch.
member() {
    local name=$1
    shift
    task "$@"
    # Several machines at once boot slowly on an emulated host.
    sed -e "s/^name = t$/name = $name/" -e "\$a [limits]\nboot = 60s" -e "s/^dir = out$/dir = out-$name/" "$T/task.ini" >"$T/$name.ini"
    configs+=(--config "$T/$name.ini")
}

run_batch() {
    status=0
    "$VMRUN" "${configs[@]}" "$@" >"$T/stdout" 2>"$T/stderr" || status=$?
    cat "$T/stderr"
}

status_of() { jq -r .status "$1/result.json"; }

@test "six tasks, three at once, one of them fails" {
    for i in 1 2 3 4 5 6; do
        member "t$i" "sh -c 'echo out $i; exit $((i == 4 ? 7 : 0))'"
    done
    run_batch --jobs 3 --output "$T/all"
    [[ $status == 7 ]]
    for i in 1 2 3 4 5 6; do
        [[ $(cat "$T/all/t$i/stdout") == "out $i" ]]
        [[ $(status_of "$T/all/t$i") == $([[ $i == 4 ]] && echo nonzero || echo ok) ]]
    done
    [[ ! -s $T/stdout ]]
    grep -q '^vmrun: failed: t4: exit code 7$' "$T/stderr"
    grep -qE '^vmrun: 6 runs: 5 ok, 1 failed, in [0-9.]+ s$' "$T/stderr"
    ! grep -q 'waits for memory' "$T/stderr" || false
    [[ -z $(ls -A "$T/disks") && -z $(ls -A "$XDG_RUNTIME_DIR/vmrun") ]]
    no_vmrun
}

@test "a task that does not fit beside another waits, visibly; --set reaches all" {
    member a 'sleep 1'
    member b 'true'
    total=$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)
    run_batch --jobs 2 --set "machine.memory=$((total * 55 / 200 * 2))M"
    [[ $status == 0 ]]
    grep -qE '^vmrun: b: waits for memory: it needs [0-9]+ MiB, [0-9]+ MiB are left$' "$T/stderr"
    [[ $(status_of "$T/out-a") == ok && $(status_of "$T/out-b") == ok ]]
}

@test "what can be known before is refused before anything starts" {
    member a 'true'
    member b 'true' 'hostnam = x'
    run_batch
    [[ $status == 125 && ! -e $T/out-a ]]
    grep -q 'b\.ini:4:.*hostnam' "$T/stderr"
    configs=()
    member a 'true'
    member b 'cat' 'stdin = inherit'
    run_batch
    [[ $status == 125 && ! -e $T/out-a ]]
    grep -q 'b\.ini.*stdin' "$T/stderr"
    configs=(--config "$T/a.ini" --config "$T/a.ini")
    run_batch --output "$T/all"
    [[ $status == 125 && ! -e $T/all ]]
    grep -q 'is the name of' "$T/stderr"
    run_batch --set machine.memory=256G
    [[ $status == 125 && ! -e $T/out-a ]]
    grep -q 'memory: the run needs' "$T/stderr"
    run "$VMRUN" "${configs[@]}" --jobs 0
    [[ $status == 125 && $output == *"--jobs 0"* ]]
}

@test "a run that is refused is told, and the others go on; -q leaves only errors" {
    member a 'true'
    member b 'true'
    mkdir "$T/out-a"
    echo mine >"$T/out-a/file"
    run_batch --jobs 1 -q
    [[ $status == 125 && $(status_of "$T/out-b") == ok ]]
    [[ $(wc -l <"$T/stderr") == 1 ]]
    grep -q '^vmrun: a: output directory .*not empty' "$T/stderr"
}

@test "when no run can be started at all, the batch ends" {
    member a 'true'
    member b 'true'
    status=0
    # The loop and the signals take the last two.
    timeout 20 bash -c 'ulimit -n 5; exec "$@"' - "$VMRUN" "${configs[@]}" --jobs 2 \
        3>&- 4>&- >/dev/null 2>"$T/stderr" || status=$?
    cat "$T/stderr"
    [[ $status == 125 && ! -e $T/out-a ]]
    [[ $(grep -c 'cannot create a pipe' "$T/stderr") == 2 ]]
}

@test "on a terminal a line tells how far it is" {
    member a 'true'
    member b 'true'
    script -qec "$VMRUN ${configs[*]} --jobs 1" /dev/null >"$T/tty" </dev/null
    grep -q '1 running, 1 waiting' "$T/tty"
    grep -q '1 ok, 1 running' "$T/tty"
}

@test "the first signal cancels each run once, and no other starts" {
    for name in a b c; do
        member $name "sh -c 'trap \"echo told; exit 0\" TERM; echo up; sleep 60 & wait'"
    done
    # A shell has its background jobs ignore SIGINT.
    env --default-signal=INT "$VMRUN" "${configs[@]}" --jobs 2 >/dev/null 2>"$T/stderr" 3>&- &
    pid=$!
    wait_for 60 grep -qs up "$T/out-a/stdout" || cat "$T/stderr" "$T"/out-a/* "$T/a.ini"
    wait_for 60 grep -qs up "$T/out-b/stdout"
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    cat "$T/stderr"
    [[ $status == 130 ]]
    for name in a b; do
        [[ $(status_of "$T/out-$name") == cancelled ]]
        grep -qx told "$T/out-$name/stdout"
    done
    [[ ! -e $T/out-c ]]
    grep -q '^vmrun: not started: c$' "$T/stderr"
    no_vmrun
}

@test "the second signal kills the machines; a killed parent takes its runs along" {
    for name in a b; do
        member $name 'started say=up wait' # deaf to the first signal: tests/guest-agents/actor.c
        sed -i "/^\[machine\]/a initramfs = $PWD/build/e2e/actor.cpio" "$T/$name.ini"
    done
    for end in signals kill; do
        rm -rf "$T"/out-*
        "$VMRUN" "${configs[@]}" --jobs 2 >/dev/null 2>"$T/stderr" 3>&- &
        pid=$!
        wait_for 60 grep -qs up "$T/out-a/stdout"
        wait_for 60 grep -qs up "$T/out-b/stdout"
        status=0
        if [[ $end == signals ]]; then
            kill -TERM "$pid"
            wait_for 10 grep -q 'a: cancelling' "$T/stderr"
            kill -TERM "$pid"
            wait "$pid" || status=$?
            [[ $status == 143 ]]
            # Killed: the first signal alone would have halted the machines, which is told.
            [[ $(jq -s 'map(.monitor_claims)' "$T"/out-?/result.json -c) == '[null,null]' ]]
        else
            kill -KILL "$pid"
            wait "$pid" || true
            wait_for 20 no_vmrun
        fi
        [[ $(status_of "$T/out-a") == cancelled && $(status_of "$T/out-b") == cancelled ]]
        no_vmrun
    done
}
