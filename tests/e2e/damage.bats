#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The task can have been root in a guest that it took over, and have written the raw scratch disk: whatever
# the second machine finds there ends in a verdict, in time, and in plain files or none.

load e2e.bash
load lose.bash

# judged: a damaged disk ended in a result, whatever came of it, and in nothing but plain files.
judged() {
    expect guest_failed 125
    [[ $(result .artifacts.status) =~ ^(complete|partial|not_exported)$ ]]
    if [[ $(result .artifacts.salvaged) == true ]]; then
        [[ $(result .artifacts.salvage_error) == null ]]
    else
        [[ -n $(result .artifacts.salvage_error) && $(result .artifacts.salvage_error) != null ]]
    fi
    [[ -z $(find "$T/out/artifacts" ! -type d ! -type f) ]]
    [[ -z $(find "$T/disks" -mindepth 1) ]]
    echo "# $(result '.artifacts.status + ": " + (.artifacts.salvage_error // "salvaged")')" >&3
}

# refused: nothing came out, since no file system was found.
refused() {
    judged
    [[ $(result .artifacts.status) == not_exported ]]
    [[ $(result .artifacts.salvage_error) == *'cannot mount the scratch disk'* ]]
}

@test "zeros all over" {
    lose zeros reset
    refused
}

@test "noise all over" {
    lose noise reset
    refused
}

@test "noise for a superblock" {
    lose super reset
    refused
}

@test "blocks of 2^70 bytes" {
    lose blocksize reset
    refused
}

@test "a feature that nobody knows" {
    lose unknown reset
    refused
}

@test "noise for group descriptors and inodes" {
    lose metadata reset
    judged
}

@test "a directory that begins with garbage" {
    lose directory reset
    judged
}

@test "names that lead upwards" {
    lose names reset
    judged
}

@test "extent trees that cannot be" {
    lose extents reset
    judged
}

@test "a superblock that asks for a panic" {
    lose panic reset
    judged
}

@test "a journal that is not there" {
    lose journal reset
    judged
}

@test "a journal to be replayed" {
    lose recover reset
    judged
}
