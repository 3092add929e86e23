#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The isolation benchmark, on itself: what decides, then real sandboxes, then a vmrun that was weakened.

# isobench OPTIONS...: run where guests run, results in $T.
isobench() {
    T=$PWD/build/isobench-test/$BATS_TEST_NUMBER
    rm -rf "$T"
    tools/isobench/isobench run --profile short --on "${where:-$(tools/where)}" --out "$T" "$@"
}

# outcome BACKEND ROW
outcome() {
    jq -r --arg backend "$1" --arg row "$2" \
        '.rows[] | select(.id == $row) | .cells[] | select(.backend == $backend) | .outcome' \
        "$T/isobench.json"
}

@test "isobench: what decides a row, the report and the comparison" {
    python3 -B -W ignore -m unittest discover -s tests/isobench -p '*_test.py'
}

@test "isobench: the short profile: the plain process loses, vmrun holds what it promises" {
    isobench
    jq -e '.control.good' "$T/isobench.json"
    [ "$(outcome none network.loopback)" = lost ]
    [ "$(outcome vmrun network.loopback)" = held ]
    [ "$(outcome vmrun reach.sweep)" = held ]
    [ "$(outcome vmrun visibility.files)" = held ]
    [ "$(outcome vmrun containment.output)" = held ]
    [ "$(outcome vmrun visibility.cpu_model)" = lost ]
}

@test "isobench: a vmrun without its output cap loses that row and no other" {
    ISOBENCH_VMRUN_SET="--set limits.stderr=64M" isobench --backend none --backend vmrun \
        --row containment.output --row containment.processes --row containment.disk
    [ "$(outcome vmrun containment.output)" = lost ]
    [ "$(outcome vmrun containment.processes)" = held ]
    [ "$(outcome vmrun containment.disk)" = held ]
}

@test "isobench: a vmrun without its disk limit loses that row and no other" {
    ISOBENCH_VMRUN_SET="--set limits.disk=1G" isobench --backend none --backend vmrun \
        --row containment.output --row containment.processes --row containment.disk
    [ "$(outcome vmrun containment.disk)" = lost ]
    [ "$(outcome vmrun containment.processes)" = held ]
    [ "$(outcome vmrun containment.output)" = held ]
}
