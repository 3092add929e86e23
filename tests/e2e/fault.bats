#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The n-th allocation, open, fork or write of a process of a run fails: always a clean verdict. See
# tests/fault/drive.py. FAULT_SEED=N repeats a sample; VMRUN_LONG=1 takes every n.

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
    drive 40 --stand-in
}

@test "the same with --events -v, with --json --timing and with --plan" {
    drive 12 --stand-in --process vmrun --options='--events -v'
    drive 12 --stand-in --process vmrun --options='--json --timing'
    drive 12 --stand-in --process vmrun --options='--plan'
}

@test "a call of the monitor fails: a line, a result, nothing left" {
    drive 12 --process vmrun-monitor
}
