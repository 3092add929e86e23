#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The n-th allocation, open, fork, write or step into a jail of a process of a run fails: always a clean
# verdict. See tests/fault/drive.py. FAULT_SEED=N repeats a sample; VMRUN_LONG=1 takes every n.

# drive CASES OPTION...: a sample of CASES, or all.
drive() {
    local seed=${FAULT_SEED:-$RANDOM} sample=()
    if [[ ! ${VMRUN_LONG:-} ]]; then
        sample=(--sample "$1" --seed "$seed")
        echo "# fault tests: seed $seed" >&3
    fi
    shift
    tests/fault/drive.py "${sample[@]}" --keep build/results/e2e "$@" 3>&-
}

@test "a call of vmrun, scribe or extractor fails: a line, a result, nothing left" {
    drive 24 --stand-in
}

@test "the same with --events -v, with --json --timing and with --plan" {
    drive 6 --stand-in --process vmrun --options='--events -v'
    drive 6 --stand-in --process vmrun --options='--json --timing'
    drive 6 --stand-in --process vmrun --options='--plan'
}

@test "the extractor, with a bundle and types to look for" {
    drive 6 --stand-in --process vmrun-extractor \
        --options='--set artifacts.bundle=tar.gz --set artifacts.types=json,text'
}

@test "a call of the monitor fails: a line, a result, nothing left" {
    drive 6 --process vmrun-monitor
}
