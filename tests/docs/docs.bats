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
