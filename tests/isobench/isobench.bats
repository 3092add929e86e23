#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The isolation benchmark on real sandboxes: the short profile once, then a vmrun that was weakened.

# The tree is what the lab and this machine share.
readonly results=$PWD/build/isobench-test

# isobench NAME OPTIONS...: run where guests run, results in $results/NAME.
isobench() {
    local name=$1
    shift
    tools/isobench/isobench run --profile short --on "${where:-$(tools/where)}" --out "$results/$name" "$@"
}

setup_file() {
    rm -rf "$results"
    isobench strong
}

# outcome BACKEND ROW [NAME]
outcome() {
    jq -r --arg backend "$1" --arg row "$2" \
        '.rows[] | select(.id == $row) | .cells[] | select(.backend == $backend) | .outcome' \
        "$results/${3:-strong}/isobench.json"
}

@test "isobench: the short profile: the plain process loses, and every row was tried" {
    python3 -B -W ignore -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open("doc/isobench.schema.json")))' \
        "$results/strong/isobench.json"
    jq -e '.control.good and .control.of > 20' "$results/strong/isobench.json"
    [ "$(jq -r '[.rows[].family] | unique | length' "$results/strong/isobench.json")" -eq 8 ]
    jq -r '.rows[] | .id as $row | .cells[] | select(.outcome == "not_run") | "\($row) \(.backend): \(.evidence)"' \
        "$results/strong/isobench.json"
}

# A canary that is exposed is found: by its token, by its word, by the trace, by its process.
@test "isobench: what the plain process gets at is found, and is not in a guest" {
    for row in visibility.{boot_id,kernel_log,processes,environ_of_others,environ,files,mounts,descriptors} \
        reach.{sweep,io_uring,bpf,keyring,node,devices} \
        network.{loopback,address,metadata,dns,udp,abstract,socket_path} \
        containment.{output,disk,processes,memory,survivors}; do
        echo "$row: none $(outcome none "$row"), vmrun $(outcome vmrun "$row")"
        [ "$(outcome none "$row")" = lost ]
        [ "$(outcome vmrun "$row")" = held ]
    done
    for row in hygiene.{root,capabilities,no_new_privs,seccomp,namespaces,descriptors}; do
        [ "$(outcome none "$row")" = lost ]
        [ "$(outcome vmrun "$row")" = held ]
    done
}

# Slots of 20 ms are missed when others want the machine: then once more, and never held.
@test "isobench: two plain processes can talk in four ways, two guests in none of them" {
    local name=strong
    for kind in lock abstract shm sysv; do
        [ "$(outcome none "channels.$kind")" = lost ] || name=again
        [ "$(outcome vmrun "channels.$kind")" != lost ]
    done
    [ $name = strong ] || isobench again --backend none --backend vmrun --row channels
    for kind in lock abstract shm sysv; do
        echo "$kind: none $(outcome none "channels.$kind" $name), vmrun $(outcome vmrun "channels.$kind" $name)"
        [ "$(outcome none "channels.$kind" $name)" = lost ]
        [ "$(outcome vmrun "channels.$kind" $name)" = held ]
    done
}

# weakened ROW ROWS OPTION...: of ROWS vmrun holds all, and with these options loses ROW and no other.
weakened() {
    local lost=$1 weak=$results/$1/isobench.json few=$results/$1/strong.json
    local -a rows=($2)
    shift 2
    ISOBENCH_VMRUN_SET="$*" isobench "$lost" --backend none --backend vmrun "${rows[@]/#/--row=}"
    jq --arg rows " ${rows[*]} " '.rows |= map(select(" \(.id) " as $id | $rows | contains($id)) |
        .cells |= map(select(.backend != "bubblewrap")))' "$results/strong/isobench.json" >"$few"
    [ "$(jq '[.rows[].cells[] | select(.backend == "vmrun" and .outcome == "held")] | length' "$few")" \
        -eq ${#rows[@]} ]
    run tools/isobench/isobench compare "$few" "$weak"
    echo "$output"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == "worse: $lost vmrun as root: held -> lost: "* ]]
    run tools/isobench/isobench compare "$weak" "$few"
    [ "$status" -eq 0 ]
    [[ ${#lines[@]} -eq 1 && ${lines[0]} == *" $lost vmrun as root: lost -> held: "* ]]
}

readonly contained="containment.output containment.processes containment.disk containment.memory"

@test "isobench: a vmrun without its output cap loses that row and no other" {
    weakened containment.output "$contained" --set limits.stderr=64M
}

@test "isobench: a vmrun without its disk limit loses that row and no other" {
    weakened containment.disk "$contained" --set limits.disk=1G
}

@test "isobench: a vmrun with more memory than was given loses that row and no other" {
    weakened containment.memory "$contained" --set machine.memory=1G --set limits.memory=800M
}

@test "isobench: a vmrun that may go on without namespaces loses that row and no other" {
    [ "$(tools/where)" = lab ] || skip "namespaces are forbidden to a whole machine: in the lab only"
    weakened closed.namespaces "closed.namespaces closed.image closed.proc" --set machine.allow_weaker_jail=yes
}
