#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is written about vmrun against what it is. The results that the unit tests and the end-to-end
# tests left in build/results are checked here, all at once and on the host: run those first.

@test "the manual pages can be built" {
    rm -rf build/man
    make man
    head -n 12 build/man/vmrun.1 | grep -q '^\.TH "vmrun" "1"'
    head -n 12 build/man/vmrun-task.5 | grep -q '^\.TH "vmrun-task" "5"'
}

@test "every result of the unit tests is as the schema says, and every field of the schema occurs" {
    run tests/docs/check-results --all-fields build/results/unit
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "every result of the end-to-end tests is as the schema says" {
    run tests/docs/check-results build/results/e2e
    echo "$output"
    [ "$status" -eq 0 ]
    (($(ls build/results/e2e/*.json | wc -l) >= 20))
}

@test "every manifest is as its schema says, and every field of the schema occurs" {
    run tests/docs/check-results --schema manifest --all-fields build/results/unit-manifests
    echo "$output"
    [ "$status" -eq 0 ]
    run tests/docs/check-results --schema manifest build/results/e2e-manifests
    echo "$output"
    [ "$status" -eq 0 ]
    (($(ls build/results/e2e-manifests/*.json | wc -l) >= 20))
}

@test "a manifest that is not as the schema says is found" {
    mkdir -p "$BATS_TEST_TMPDIR/bad"
    good=$(grep -l exported build/results/unit-manifests/*.json | head -n 1)
    for change in '.status = "fine"' 'del(.entries)' '.new_field = 1' '.entries |= map(del(.sha256))' \
        '.entries[0].kind = "link"' '.entries[0].exported = ""' '.skipped |= map(del(.reason, .reason_base64))' \
        '.schema = "vmrun.manifest/2"'; do
        jq "$change" "$good" >"$BATS_TEST_TMPDIR/bad/manifest.json"
        run tests/docs/check-results --schema manifest "$BATS_TEST_TMPDIR/bad"
        echo "$change: $output"
        [ "$status" -eq 1 ]
    done
}

@test "what is not as the schema says is found" {
    mkdir -p "$BATS_TEST_TMPDIR/bad"
    good=$(grep -l guest_kernel_claimed_base64 build/results/unit/*.json)
    for change in '.status = "fine"' '.limit = "time"' 'del(.signal)' '.new_field = 1' \
        '.exit_code = "0"' '.streams.stdout.sha256 = "00"' '.artifacts.list[0].path = null' \
        '.artifacts.list |= map(del(.sha256))' '.schema = "vmrun.result/2"'; do
        jq "$change" "$good" >"$BATS_TEST_TMPDIR/bad/result.json"
        run tests/docs/check-results "$BATS_TEST_TMPDIR/bad"
        echo "$change: $output"
        [ "$status" -eq 1 ]
    done
}

# schema_holds NAME: what the end-to-end tests saw of it is as doc/NAME.schema.json says.
schema_holds() {
    run tests/docs/check-results "${@:2}" --schema "$1" "build/results/$1"
    echo "$output"
    [ "$status" -eq 0 ]
}

# schema_finds NAME CHANGE...: each change to a good one is found.
schema_finds() {
    local name=$1 change
    mkdir -p "$BATS_TEST_TMPDIR/bad"
    for change in "${@:2}"; do
        jq -c "$change" "$BATS_TEST_TMPDIR/good" >"$BATS_TEST_TMPDIR/bad/1.ndjson"
        ! cmp -s "$BATS_TEST_TMPDIR/good" "$BATS_TEST_TMPDIR/bad/1.ndjson" || false
        run tests/docs/check-results --schema "$name" "$BATS_TEST_TMPDIR/bad"
        echo "$change: $output"
        [ "$status" -eq 1 ]
    done
}

@test "what --check --json and --plan --json print is as the schema says, and what is not is found" {
    schema_holds check --all-fields
    for file in build/results/check/*.json; do
        ! jq -e .plan "$file" >/dev/null || jq -c . "$file" >"$BATS_TEST_TMPDIR/good"
    done
    schema_finds check '.valid = false' 'del(.host_memory_bytes)' '.settings[0].origin = "guess"' \
        '.files[0].bytes = -1' '.argv = []' '.new_field = 1' '.plan.devices[0].gpa = "16"' \
        '.plan.processes[0].fds.x = ""' 'del(.plan.limits.wall_ms)'
}

@test "errors as JSON are as the schema says, and what is not is found" {
    schema_holds errors --all-fields
    jq -c . build/results/errors/*.json | head -n 1 >"$BATS_TEST_TMPDIR/good"
    schema_finds errors '.errors = []' 'del(.errors[0].key)' '.errors[0].line = 0' \
        '.vmrun_exit_code = 256' '.schema = "vmrun.errors/2"' '.new_field = 1'
}

@test "what vmrun doctor --json prints is as the schema says, and what is not is found" {
    schema_holds doctor --all-fields
    for grade in PASS FAIL; do
        grep -q "\"$grade\"" build/results/doctor/*.json
    done
    jq -c . build/results/doctor/*.json | head -n 1 >"$BATS_TEST_TMPDIR/good"
    schema_finds doctor '.works = 1' '.checks = []' '.checks[0].grade = "WARN"' '.checks[0].text = ""' \
        'del(.checks[0].remedy)' '.checks[0].line = 1' '.schema = "vmrun.doctor/2"' '.new_field = 1'
}

@test "what vmrun image verify --json prints is as the schema says, and what is not is found" {
    schema_holds image --all-fields
    jq -c . build/results/image/*.json | head -n 1 >"$BATS_TEST_TMPDIR/good"
    schema_finds image '.sha256 = "00"' '.verity_sha256 = 1' 'del(.problem)' '.path = null' \
        '.schema = "vmrun.image/2"' '.new_field = 1'
}

@test "every line of --events is as the schema says, every event occurs, and what is not is found" {
    schema_holds event
    cat build/results/event/*.ndjson >"$BATS_TEST_TMPDIR/all"
    for name in $(jq -r '."$defs" | keys[] | select(. != "time_ms")' doc/event.schema.json); do
        jq -c "select(.event == \"$name\")" "$BATS_TEST_TMPDIR/all" | head -n 1 >"$BATS_TEST_TMPDIR/good"
        echo "$name"
        [ -s "$BATS_TEST_TMPDIR/good" ]
        schema_finds event 'del(.event)' '.event = "other"' '.new_field = 1'
    done
    jq -c 'select(.event == "output")' "$BATS_TEST_TMPDIR/all" | head -n 1 >"$BATS_TEST_TMPDIR/good"
    schema_finds event '.b64 = "AA==" | .text = "two"' 'del(.text) | del(.b64) | del(.cut)' \
        '.stream = "console"' '.time_ms = "1"'
    jq -c 'select(.event == "done")' "$BATS_TEST_TMPDIR/all" | head -n 1 >"$BATS_TEST_TMPDIR/good"
    schema_finds event '.status = "fine"' 'del(.reason)' '.limit = "time"'
}

# A bare name in vmm/README.md means a file beside the one before it.
@test "every file that vmm/README.md names exists" {
    folder=.
    count=0
    for name in $(grep -oE '`[^` ]+`' vmm/README.md | tr -d '`'); do
        case $name in
            */*) folder=$(dirname "$name") ;;
            *.[ch]) name=$folder/$name ;;
            *) continue ;;
        esac
        [[ $name == tools/* ]] || name=vmm/$name
        compgen -G "$name" >/dev/null || { echo "$name is missing"; false; }
        count=$((count + 1))
    done
    ((count >= 30))
}

@test "README.md counts the system calls of each jail as the tables have them" {
    calls() { # PROCESS THREAD
        build/jail/probe --table | awk -v process="$1" -v thread="$2" \
            '$1 == process && $2 == thread && !seen[$3]++' | wc -l
    }
    text="$(calls vmrun-monitor loop) for the monitor's loop, $(calls vmrun-monitor vcpu) for a vCPU"
    text+=", $(calls vmrun-scribe scribe) for the scribe, $(calls vmrun-extractor extractor) for the extractor"
    echo "$text"
    tr '\n' ' ' <README.md | grep -qF "$text"
}
