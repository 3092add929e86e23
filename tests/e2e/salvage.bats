#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that is lost leaves its files on the scratch disk; a second one exports them, or says why not.
# The first one is taken over here by tests/guest-agents/saboteur.c.

load e2e.bash
load lose.bash
load artifacts/artifacts.bash

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
    lose_options=(--console)
    lose none reset
    expect guest_failed 125
    salvaged
    # The console is that of both machines, one after the other.
    [[ $(grep -c 'Linux version' "$T/out/console") == 2 ]]
    [[ $(stat -c %s "$T/out/console") == $(result .streams.console.kept_bytes) ]]
    between 80000 "$(result .host_measured.disk_bytes.export)" 200000
    grep -F 'the guest was lost; a second one looks for what it left' "$T/stderr"
}

@test "a kernel that panics for want of memory leaves its files" {
    lose none exhaust
    expect guest_failed 125
    salvaged
}

@test "a guest that hangs is ended by the host, and its files come" {
    lose none hang '[limits]' 'wall = 8s'
    expect limit 124
    # The host's deadline, not the agent's: two seconds later, and with no word of the task's end.
    [[ $(result .limit) == wall && $(result .time.run_ms) == null ]] || { result .time && return 1; }
    salvaged
}

@test "a second guest that hangs as well is ended in time, and nothing comes" {
    # Its time: twice that of a boot, half a minute to export, and what moving the bytes takes.
    lose mark reset '[limits]' 'boot = 10s'
    expect guest_failed 125
    [[ $(result .artifacts.status) == not_exported && $(result .artifacts.salvaged) == false ]]
    [[ $(result .artifacts.salvage_error) == 'the second guest took too long' ]]
    between 50000 "$(result .time.total_ms)" 110000
    [[ -z $(ls "$T/out/artifacts") ]]
    no_vmrun
}

@test "what root made in a lost guest comes as any other file would, or not at all" {
    lose odd reset 'max_depth = 4'
    expect guest_failed 125
    expect_manifest <<'END'
d out 0755
f out/capable 0644 1 text
d out/d 0755
d out/d/d 0755
d out/d/d/d 0755
d out/deep 0755
f out/deep/numbers 0644 108894 text
f out/immutable 0644 1 text
f out/salvage-me 0644 5 text
f out/suid 6755 1 text
- out/d/d/d/d too_deep
- out/disk device
- out/link symlink
- out/zero device
partial 5 108902 0
END
    check_files # modes, no attributes, one link each
}

@test "salvage = no exports nothing" {
    lose none reset 'salvage = no'
    expect guest_failed 125
    [[ $(result .artifacts.status) == not_exported && $(result .artifacts.salvaged) == false ]]
    [[ $(result .artifacts.salvage_error) == null && -z $(ls "$T/out/artifacts") ]]
}
