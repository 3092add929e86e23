#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# lab: --memory 6G --timeout 3000
# Many runs at once, and floods of output: every verdict and every byte is right, nothing is shared, and
# what vmrun holds in memory does not grow with what a task prints.
#
# The full sizes (64 runs, 1 GiB) with VMRUN_LONG=1, a part of them else: an emulated host needs seconds
# of CPU for each boot.

load e2e.bash

MIB=1048576
RSS_MAX_KIB=16384 # of vmrun and of vmrun-scribe

setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks"
    own_runtime
}

teardown() {
    [[ -z ${sampler:-} ]] || kill "$sampler" 2>/dev/null || true
}

# size SAMPLE FULL
size() {
    if [[ ${VMRUN_LONG:-} ]]; then echo "$2"; else echo "$1"; fi
}

# tiny NAME COMMAND [LINE OF [task]...]: $T/NAME.ini, a task in the smallest machine.
tiny() {
    local name=$1 command=$2
    shift 2
    {
        printf '[task]\nname = %s\ncommand = %s\n' "$name" "$command"
        printf '%s\n' "$@"
        printf '[image]\npath = %s\n' "$IMAGES/base.erofs"
        printf '[machine]\nmemory = 64M\nworkdir = %s\nworkdir_tmpfs = yes\n' "$T/disks"
        # As many machines share one emulated processor as the test wants.
        printf '[limits]\nmemory = 24M\nboot = 600s\nwall = 1500s\nidle = 1500s\n'
        printf '[artifacts]\ncollect = mine\nrequired = mine\n'
        printf '[output]\ndir = out/%s\n' "$name"
    } >"$T/$name.ini"
}

nothing_left() {
    wait_for 10 no_vmrun
    [[ -z $(ls -A "$T/disks") && $(runs) == 0 ]]
    [[ -z $(find "$T/out" -name '.*.partial') ]]
}

# check_tiny I STATUS EXIT: the run of task tI is as its command says, and as if it were alone.
check_tiny() {
    local dir=$T/out/t$1
    jq -e --arg status "$2" --argjson code "$3" '.status == $status and .exit_code == $code and
        .signal == null and .limit == null and .limits_hit == [] and
        .streams.stdout.truncated == false' "$dir/result.json" >/dev/null ||
        { jq . "$dir/result.json" && return 1; }
    [[ $(cat "$dir/stdout") == "up $1"$'\n'"go $1"$'\n'mine ]]
    [[ $(cat "$dir/stderr") == "err $1" ]]
    [[ $(cat "$dir/artifacts/mine") == "mine $1" ]]
    [[ $(jq -r .streams.stdout.sha256 "$dir/result.json") == $(sha256sum <"$dir/stdout" | cut -d ' ' -f 1) ]]
    keep_result "$dir"
}

# What each task does: its word goes through its own streams, scratch disk and artifact.
body() {
    echo "sh -c 'echo up $1; $2; echo err $1 >&2; echo mine $1 >mine; echo go \$word; ls; exit $(($1 % 3))'"
}

expected_status() { if (($1 % 3)); then echo nonzero; else echo ok; fi; }

# How many of FILES hold a whole line "up I".
up_count() { cat "$T"/out/t*/stdout 2>/dev/null | grep -c '^up '; }

# One that has ended ends the waiting too: the tasks wait for the test.
all_up_or_one_gone() { (($(up_count) == $1 || $(jobs -rp | wc -l) < $1)); }

distinct_runs() {
    [[ $(jq -r .run_id "$T"/out/*/result.json | sort -u | grep -vc null) == "$1" ]]
}

@test "tiny tasks, all running at the same moment, do not meet" {
    count=$(size 8 64)
    declare -A pids
    for ((i = 1; i <= count; i++)); do
        tiny "t$i" "$(body "$i" 'read word')" 'stdin = inherit'
        mkfifo "$T/in-$i"
        # Open for both, so that nobody waits for the other end.
        "$VMRUN" --config "$T/t$i.ini" -q <>"$T/in-$i" >"$T/live-$i" 2>"$T/err-$i" 3>&- &
        pids[$i]=$!
    done
    # No task goes on before all have said that they run.
    wait_for 1400 all_up_or_one_gone "$count"
    [[ $(up_count) == "$count" ]] || { cat "$T"/err-* && return 1; }
    [[ $(pgrep -c '^vmrun-monitor') == "$count" ]]
    for ((i = 1; i <= count; i++)); do
        echo "$i" >"$T/in-$i"
    done
    for ((i = 1; i <= count; i++)); do
        status=0
        wait "${pids[$i]}" || status=$?
        [[ $status == $((i % 3)) ]]
        check_tiny "$i" "$(expected_status "$i")" "$status"
        cmp "$T/live-$i" "$T/out/t$i/stdout"
        [[ $(cat "$T/err-$i") == "err $i" ]]
    done
    distinct_runs "$count"
    nothing_left
}

# batch COUNT OPTIONS...: tasks t1 to tCOUNT in one call; $status, and $T/stderr.
batch() {
    local configs=()
    for ((i = 1; i <= $1; i++)); do
        tiny "t$i" "$(body "$i" "word=$i; sleep 1")" # long enough to be counted
        configs+=(--config "$T/t$i.ini")
    done
    shift
    status=0
    "$VMRUN" "${configs[@]}" "$@" >"$T/stdout" 2>"$T/stderr" || status=$?
    tail -n 20 "$T/stderr"
}

# check_batch COUNT
check_batch() {
    local failed=$(($1 - $1 / 3)) i
    [[ $status == 1 && ! -s $T/stdout ]]
    grep -qE "^vmrun: $1 runs: $(($1 / 3)) ok, $failed failed, in [0-9.]+ s$" "$T/stderr"
    for ((i = 1; i <= $1; i++)); do
        check_tiny "$i" "$(expected_status "$i")" $((i % 3))
    done
    distinct_runs "$1"
    nothing_left
}

# Note the largest number of monitors at one moment in $T/most, until killed.
watch_monitors() {
    local most=0 now
    set +e # pgrep finds none at first
    while sleep 0.5; do
        now=$(pgrep -c '^vmrun-monitor')
        ((now <= most)) || { most=$now && echo "$most" >"$T/most"; }
    done
}

@test "many runs in one call, eight at once, without a failure of their own" {
    count=$(size 10 64)
    watch_monitors 3>&- &
    sampler=$!
    batch "$count" --jobs 8
    kill "$sampler"
    check_batch "$count"
    [[ $(cat "$T/most") == 8 ]]
    ! grep -q 'waits for memory' "$T/stderr" || false
}

@test "eight runs of which three fit into memory: the others wait, visibly, and all end well" {
    available=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
    watch_monitors 3>&- &
    sampler=$!
    batch 8 --jobs 8 --set "machine.memory=$((available * 29 / 200 * 2))M"
    kill "$sampler"
    check_batch 8
    [[ $(cat "$T/most") == 3 ]]
    [[ $(grep -cE '^vmrun: t[0-9]+: waits for memory: ' "$T/stderr") -ge 1 ]]
}

# ---- floods -----------------------------------------------------------------------------------------

# flood BYTES CAP: $T/flood.ini prints BYTES bytes of numbered lines, says so, and waits for a word on
# its stdin before it ends.
flood() {
    local bytes=$1 cap=$2
    rm -f "$T/go"
    mkfifo "$T/go"
    {
        printf '[task]\nname = flood\nstdin = inherit\n'
        printf 'command = sh -c "yes 0123456789abcdef | head -c %s; echo over >&2; read word"\n' "$bytes"
        printf '[image]\npath = %s\n' "$IMAGES/base.erofs"
        printf '[machine]\nmemory = 128M\nworkdir = %s\nworkdir_tmpfs = yes\n' "$T/disks"
        printf '[limits]\nboot = 600s\nwall = 2400s\ncpu = 2400s\nstdout = %s\n' "$cap"
        printf '[output]\ndir = out\n'
    } >"$T/flood.ini"
}

# The flood itself, on this side.
flood_bytes() { yes 0123456789abcdef | head -c "$1"; }

# sample_rss: the VmHWM of each process of vmrun, as lines "NAME KIB". The peak is the kernel's own.
sample_rss() {
    local pid name key value rest
    for pid in $(pgrep '^vmrun'); do
        while read -r key value rest; do
            case $key in
            Name:) name=$value ;;
            VmHWM:) echo "$name $value" ;;
            esac
        done <"/proc/$pid/status"
    done
}

# watch_rss: samples in $T/rss, until killed. The task, which has printed all, gets its word once all three
# processes have been seen after that: so no peak of the flood is missed. (After a minute it gets it
# anyway, and the test fails for what was not seen.)
watch_rss() {
    local over end=
    set +e # a process may end while it is looked at
    while sleep 0.3; do
        over=
        grep -qs over "$T/out/stderr" && over=1
        sample_rss >"$T/sample"
        cat "$T/sample" >>"$T/rss"
        [[ $over ]] || continue
        : "${end:=$((SECONDS + 60))}"
        if [[ $(cut -d ' ' -f 1 "$T/sample" | sort -u | wc -l) == 3 ]] || ((SECONDS > end)); then
            echo go >"$T/go"
            break
        fi
    done 2>/dev/null
    while sleep 0.3; do # what the end of the run may add
        sample_rss
    done 2>/dev/null >>"$T/rss"
}

# peak NAME: what watch_rss saw, in KiB.
peak() { awk -v name="$1" '$1 == name && $2 > max {max = $2} END {print max + 0}' "$T/rss"; }

# The monitor's is the guest's RAM and a little; vmrun itself measures it too, at its end.
rss_is_bounded() {
    kill "$sampler"
    echo "# peaks in KiB: vmrun $(peak vmrun), scribe $(peak vmrun-scribe), monitor $(peak vmrun-monitor)" \
        "of which $(($(result .host_measured.monitor_rss_without_guest_bytes) / 1024)) are not the guest's" >&3
    (($(peak vmrun) > 0 && $(peak vmrun) < RSS_MAX_KIB))
    (($(peak vmrun-scribe) > 0 && $(peak vmrun-scribe) < RSS_MAX_KIB))
    (($(peak vmrun-monitor) > 0 && $(peak vmrun-monitor) < 128 * 1024 + RSS_MAX_KIB))
    (($(result .host_measured.monitor_rss_without_guest_bytes) > 0 &&
        $(result .host_measured.monitor_rss_without_guest_bytes) < RSS_MAX_KIB * 1024))
}

# Not inside of a pipeline: its end would wait for the watcher.
start_watching() {
    : >"$T/rss"
    watch_rss >/dev/null 3>&- &
    sampler=$!
}

# run_flood OPTIONS...: $status, where it is not in a pipeline; stdout is this function's.
run_flood() {
    status=0
    "$VMRUN" --config "$T/flood.ini" "$@" <>"$T/go" 2>"$T/stderr" || status=$?
}

# totals BYTES KEPT
totals() {
    jq -e --argjson total "$1" --argjson kept "$2" '.streams.stdout.total_bytes == $total and
        .streams.stdout.kept_bytes == $kept and .streams.stdout.truncated == ($kept < $total)' \
        "$T/out/result.json" >/dev/null || { jq .streams "$T/out/result.json" && return 1; }
    [[ $(stat -c %s "$T/out/stdout") == "$2" ]]
}

@test "a flood past the cap: totals are exact, the first and last part are kept, memory is bounded" {
    bytes=$(size $((24 * MIB)) $((1024 * MIB)))
    flood "$bytes" 1M
    start_watching
    run_flood >"$T/live"
    expect ok 0
    rss_is_bounded
    totals "$bytes" $MIB
    cmp "$T/out/stdout" <(flood_bytes $((MIB * 3 / 4)) && flood_bytes "$bytes" | tail -c $((MIB / 4)))
    [[ $(jq -c .limits_hit "$T/out/result.json") == *stdout* ]]
    keep_result "$T/out"
}

@test "a flood that is kept and shown as a whole, as it is, as JSON, as events, on a terminal" {
    bytes=$(size $((4 * MIB)) $((256 * MIB)))
    flood "$bytes" 512M
    for form in plain --json --events terminal; do
        rm -rf "$T/out"
        start_watching
        case $form in
        plain) run_flood | cksum >"$T/sum" ;;
        --events) run_flood --events | jq -j 'select(.stream == "stdout").text // empty' | cksum >"$T/sum" ;;
        --json) run_flood --json >"$T/live" ;;
        terminal)
            script -qec "stty -onlcr; $VMRUN --config $T/flood.ini <>$T/go" /dev/null </dev/null | cksum >"$T/sum"
            ;;
        esac
        echo "# $form" >&3
        rss_is_bounded
        totals "$bytes" "$bytes"
        [[ $form == --json || $form == terminal || $(cat "$T/sum") == $(flood_bytes "$bytes" | cksum) ]]
        cmp "$T/out/stdout" <(flood_bytes "$bytes")
    done
}

@test "a reader that stands still holds up neither the task nor the files, and then gets every byte" {
    bytes=$(size $((4 * MIB)) $((256 * MIB)))
    flood "$bytes" 512M
    mkfifo "$T/pipe"
    start_watching
    "$VMRUN" --config "$T/flood.ini" -q <>"$T/go" >"$T/pipe" 2>"$T/stderr" 3>&- &
    pid=$!
    exec 5<"$T/pipe" # open, and not read
    wait_for 2000 test -e "$T/out/result.json"
    kill -0 "$pid" # it waits for its reader, a minute long: so nothing comes before this
    cksum <&5 >"$T/sum"
    exec 5<&-
    wait "$pid"
    cat "$T/stderr"
    [[ $(cat "$T/stderr") == over ]]
    totals "$bytes" "$bytes"
    [[ $(result .status) == ok ]]
    rss_is_bounded
    [[ $(cat "$T/sum") == $(flood_bytes "$bytes" | cksum) ]]
    cmp "$T/out/stdout" <(flood_bytes "$bytes")
    nothing_left
}

@test "a reader that never reads again: after a minute vmrun ends without it" {
    [[ ${VMRUN_LONG:-} ]] || skip "takes a minute of waiting: make check-long"
    flood $((4 * MIB)) 8M
    mkfifo "$T/pipe"
    "$VMRUN" --config "$T/flood.ini" <<<go >"$T/pipe" 2>"$T/stderr" 3>&- &
    pid=$!
    exec 5<"$T/pipe"
    wait_for 200 test -e "$T/out/result.json"
    wait_for 90 grep -q 'nobody read the rest of the output' "$T/stderr"
    wait "$pid"
    exec 5<&-
    totals $((4 * MIB)) $((4 * MIB))
    nothing_left
}
