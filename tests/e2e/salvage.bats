#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that is lost leaves its files on the scratch disk; a second one exports them, or says why not.
# The first one is taken over here by tests/guest-agents/saboteur.c.

load e2e.bash
load lose.bash

# salvaged: everything came back.
salvaged() {
    [[ $(result .artifacts.salvaged) == true && $(result .artifacts.salvage_error) == null ]] ||
        { result .artifacts && return 1; }
    [[ $(cat "$T/out/artifacts/out/salvage-me") == text ]]
    cmp <(seq 20000) "$T/out/artifacts/out/deep/numbers"
    [[ $(result '.artifacts.skipped[] | .path + " " + .reason') == "out/link symlink" ]]
    [[ $(find "$T/out/artifacts" -type f | wc -l) == 2 ]]
}

@test "a task that writes, waits and resets the machine gets its bytes back" {
    lose none reset
    expect guest_failed 125
    salvaged
    grep -F 'the guest was lost; a second one looks for what it left' "$T/stderr"
}

@test "a kernel that panics for want of memory leaves its files" {
    lose none exhaust
    expect guest_failed 125
    salvaged
}

@test "a guest that hangs is ended by the host, and its files come" {
    # The kernel leaves the agent a share beside the saboteur's real-time loop, so that it may export
    # by itself: then this tests nothing.
    [[ ${VMRUN_LONG:-} ]] || skip "the hang does not hold on every machine"
    lose none hang '[limits]' 'wall = 8s'
    expect limit 124
    [[ $(result .limit) == wall ]]
    salvaged
}

@test "salvage = no exports nothing" {
    lose none reset 'salvage = no'
    expect guest_failed 125
    [[ $(result .artifacts.status) == not_exported && $(result .artifacts.salvaged) == false ]]
    [[ $(result .artifacts.salvage_error) == null && -z $(ls "$T/out/artifacts") ]]
}

