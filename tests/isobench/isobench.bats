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
    python3 -B -W ignore -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open("doc/isobench.schema.json")))' \
        "$T/isobench.json"
    jq -e '.control.good' "$T/isobench.json"
    [ "$(outcome none network.loopback)" = lost ]
    [ "$(outcome vmrun network.loopback)" = held ]
    [ "$(outcome vmrun reach.sweep)" = held ]
    [ "$(outcome vmrun visibility.files)" = held ]
    [ "$(outcome vmrun containment.output)" = held ]
}

# weakened ROW OPTION...: with these options vmrun loses ROW, and of the others none.
weakened() {
    local row lost=$1
    shift
    ISOBENCH_VMRUN_SET="$*" isobench --backend none --backend vmrun --row containment.output \
        --row containment.processes --row containment.disk --row containment.memory
    for row in containment.{output,processes,disk,memory}; do
        if [[ $row == "$lost" ]]; then
            [ "$(outcome vmrun "$row")" = lost ]
        else
            [ "$(outcome vmrun "$row")" = held ]
        fi
    done
}

@test "isobench: a vmrun without its output cap loses that row and no other" {
    weakened containment.output --set limits.stderr=64M
}

@test "isobench: a vmrun without its disk limit loses that row and no other" {
    weakened containment.disk --set limits.disk=1G
}

@test "isobench: a vmrun with more memory than was given loses that row and no other" {
    weakened containment.memory --set machine.memory=1G --set limits.memory=800M
}
