# SPDX-License-Identifier: Apache-2.0
# Loaded by every e2e test file: writes a task, runs it in a real guest, reads its result.

# VMRUN_BIN names other executables, for example those of `make asan`.
VMRUN=$PWD/${VMRUN_BIN:-build/bin}/vmrun
IMAGES=$PWD/build/images

# Each test works in a folder of its own on a local file system.
setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks"
}

# task COMMAND [LINE...]: write $T/task.ini with COMMAND and further lines, which may open sections.
task() {
    local command=$1
    shift
    {
        printf '[task]\nname = t\ncommand = %s\n' "$command"
        printf '%s\n' "$@"
        printf '[image]\npath = %s\n' "$IMAGES/base.erofs"
        printf '[machine]\nmemory = 256M\nworkdir = %s\nworkdir_tmpfs = yes\n' "$T/disks"
        printf '[output]\ndir = out\n'
    } >"$T/task.ini"
}

# run_task [OPTIONS]: $status, and $T/{stdout,stderr}; stdin is this function's. How long the guest may
# take to boot is the test's business only where its task says it: a busy host needs more than usual.
run_task() {
    status=0
    [[ $* == *--check* || $* == *--plan* ]] || grep -qs '^boot = ' "$T/task.ini" ||
        set -- --set limits.boot=60s "$@"
    "$VMRUN" --config "$T/task.ini" "$@" >"$T/stdout" 2>"$T/stderr" || status=$?
    keep_result "$T/out"
    keep_shown "$@"
}

# keep_shown OPTIONS: keep $T/stdout for tests/docs too, where it was for programs to read.
keep_shown() {
    local kind ending=json
    case " $* " in
        *" --events "*) kind=event ending=ndjson ;;
        *" --json "*) kind=$(jq -r '.schema | ltrimstr("vmrun.") | rtrimstr("/1")' "$T/stdout") ;;
        *) return 0 ;;
    esac
    [[ $kind != result ]] || return 0 # kept already
    # As in keep_result.
    mkdir -p "build/results/$kind" 2>/dev/null && [[ -w build/results/$kind ]] || return 0
    shown=$((${shown:-0} + 1))
    cp "$T/stdout" "build/results/$kind/$(basename "$BATS_TEST_FILENAME" .bats)-$BATS_TEST_NUMBER-$shown.$ending"
}

# keep_result DIR: keep result and manifest in DIR for tests/docs, where all are checked against schemas.
keep_result() {
    local to=$PWD/build/results/e2e
    [[ -f $1/result.json ]] || return 0
    # As an ordinary user in the lab the tree may be somebody else's.
    mkdir -p "$to" 2>/dev/null && [[ -w $to ]] || return 0
    kept=$((${kept:-0} + 1))
    cp "$1/result.json" "$to/$(basename "$BATS_TEST_FILENAME" .bats)-$BATS_TEST_NUMBER-$kept.json"
    [[ -f $1/manifest.json ]] || return 0
    mkdir -p "$to-manifests"
    cp "$1/manifest.json" "$to-manifests/$(basename "$BATS_TEST_FILENAME" .bats)-$BATS_TEST_NUMBER-$kept.json"
}

# result FILTER: a value out of result.json.
result() {
    jq -r "$1" "$T/out/result.json"
}

# expect STATUS EXIT: what the result says, and what vmrun exited with.
expect() {
    if [[ $(result .status) != "$1" || $status != "$2" ]]; then
        echo "expected $1 and exit $2, got $(result .status) and exit $status"
        cat "$T/stderr"
        jq -c '{status, exit_code, signal, limit, reason, time}' "$T/out/result.json"
        return 1
    fi
}

# between LOW VALUE HIGH: numbers, which may have a fraction.
between() {
    jq -en "$1 <= $2 and $2 <= $3" >/dev/null || {
        echo "expected $1 to $3, got $2"
        jq -c '{status, limit, limits_hit, time, guest_claims, host_measured}' "$T/out/result.json"
        return 1
    }
}

# own_runtime: run directories in a base of this test's own, $B.
own_runtime() {
    export XDG_RUNTIME_DIR=$T/runtime
    mkdir -m 700 "$XDG_RUNTIME_DIR"
    B=$XDG_RUNTIME_DIR/vmrun
}

# runs: how many run directories there are.
runs() {
    ls -A "$B" 2>/dev/null | wc -l
}

# wait_for SECONDS CMD...: until CMD is true.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# no_vmrun: no process of any run is alive.
no_vmrun() {
    ! pgrep '^vmrun' >/dev/null || false
}
