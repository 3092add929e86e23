#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The counts of a cold start stay within tools/bench/budgets, and the gate sees it when one does not.

setup_file() {
    export FIGURES=$PWD/build/bench-gate/bench.json
    tools/bench/bench --size tiny --out build/bench-gate counts
}

@test "no count of a run is past its budget" {
    run tools/bench/gate --figures "$FIGURES"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "each budget that is one too low fails the gate, and is named" {
    while read -r key; do
        value=$(jq ".$key" "$FIGURES")
        printf '%s %d\n' "$key" "$((value - 1))" >"$BATS_TEST_TMPDIR/budgets"
        run tools/bench/gate --figures "$FIGURES" --budgets "$BATS_TEST_TMPDIR/budgets"
        [ "$status" -ne 0 ]
        [[ $output == *"PAST: $key $value, budget $((value - 1))"* ]]
    done < <(grep -o '^[a-z_]*' tools/bench/budgets)
}

@test "a count that is at its budget passes, one that was not measured does not" {
    value=$(jq .exits_per_boot "$FIGURES")
    printf 'exits_per_boot %d\n' "$value" >"$BATS_TEST_TMPDIR/budgets"
    run tools/bench/gate --figures "$FIGURES" --budgets "$BATS_TEST_TMPDIR/budgets"
    [ "$status" -eq 0 ]
    printf 'no_such_count 1\n' >"$BATS_TEST_TMPDIR/budgets"
    run tools/bench/gate --figures "$FIGURES" --budgets "$BATS_TEST_TMPDIR/budgets"
    [ "$status" -ne 0 ]
}

@test "every count was had" {
    run jq -r 'to_entries[] | select(.value == null) | .key' "$FIGURES"
    for key in $(python3 -B -c 'import sys; sys.path.insert(0, "tools/bench")
import counts; print(*counts.KEYS)'); do
        [[ $'\n'$output$'\n' != *$'\n'$key$'\n'* ]] || {
            echo "$key is null"
            return 1
        }
    done
    [ "$(jq .initramfs_bytes_read "$FIGURES")" -eq "$(jq .initramfs_bytes "$FIGURES")" ]
    [ "$(jq '[.run_exits_userspace[]] | add' "$FIGURES")" -gt "$(jq '[.boot_exits_userspace[]] | add' "$FIGURES")" ]
}

@test "nothing of the monitor but the guest runs while the guest sleeps" {
    [ "$(jq .idle_monitor_wakeups "$FIGURES")" -eq 0 ]
}
