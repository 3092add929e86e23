#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that is lost leaves its files on the scratch disk; a second one exports them, or says why not.
# The first one is taken over here by tests/guest-agents/saboteur.c.

load e2e.bash

# lose DAMAGE END [LINE...]: a task that writes, waits three seconds, and loses its machine.
lose() {
    local go="$1 $2"
    shift 2
    cat >"$T/script.sh" <<-END
	mkdir -p out/deep && echo text >out/salvage-me && seq 20000 >out/deep/numbers
	ln -s /etc/passwd out/link
	sleep 3
	echo $go >.go && mv .go go
	sleep 600
	END
    task 'sh script.sh' '[input]' 'script.sh = script.sh' '[artifacts]' 'collect = out' "$@"
    sed -i "s|^\[machine\]\$|[machine]\ninitramfs = $PWD/build/e2e/saboteur.cpio|" "$T/task.ini"
    run_task --set limits.boot=60s --set limits.disk=32M
}

# salvaged: everything came back.
salvaged() {
    [[ $(result .artifacts.salvaged) == true && $(result .artifacts.salvage_error) == null ]] ||
        { result .artifacts && return 1; }
    [[ $(cat "$T/out/artifacts/out/salvage-me") == text ]]
    cmp <(seq 20000) "$T/out/artifacts/out/deep/numbers"
    [[ $(result '.artifacts.skipped[] | .path + " " + .reason') == "out/link symlink" ]]
    [[ $(find "$T/out/artifacts" -type f | wc -l) == 2 ]]
}

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

@test "a disk of zeros or noise, or without a superblock, is a verdict" {
    for how in zeros noise super blocksize unknown; do
        lose "$how" reset
        judged
        [[ $(result .artifacts.status) == not_exported ]]
        [[ $(result .artifacts.salvage_error) == *'cannot mount the scratch disk'* ]]
        rm -r "$T/out"
    done
}

@test "damaged metadata, directories and extents are a verdict" {
    for how in metadata directory names extents; do
        lose "$how" reset
        judged
        rm -r "$T/out"
    done
}

@test "a superblock that asks for a panic, a journal or its replay changes nothing" {
    for how in panic journal recover; do
        lose "$how" reset
        judged
        rm -r "$T/out"
    done
}
