#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Keys of the task file that no other file here uses hold in a real guest.

load e2e.bash

@test "argv.N, user, hostname, cpu_mask, hugepages, and {name} and {run} in [output] dir" {
    {
        printf '[task]\nname = keyed\nargv.0 = sh\nargv.1 = -c\n'
        # shellcheck disable=SC2016
        printf 'argv.2 = uname -n; id -u; id -g; grep -cw popcnt /proc/cpuinfo; printf "[%%s]" "$@"\n'
        printf 'argv.3 = sh\nargv.4 = a  "b\nargv.5 =\nhostname = here\nuser = 12:34\n'
        printf '[image]\npath = %s\n' "$IMAGES/base.erofs"
        printf '[machine]\nmemory = 256M\nworkdir = %s\nworkdir_tmpfs = yes\n' "$T/disks"
        printf 'hugepages = yes\ncpu_mask = popcnt\n[output]\ndir = results/{name}/{run}\n'
    } >"$T/task.ini"
    run_task -q
    cat "$T/stdout" "$T/stderr"
    [[ $status == 0 ]]
    [[ $(cat "$T/stdout") == $'here\n12\n34\n0\n[a  "b][]' ]]
    out=$(echo "$T"/results/keyed/*)
    [[ $(jq -r .run_id "$out/result.json") == "$(basename "$out")" ]]
    [[ $(jq -r .task "$out/result.json") == keyed ]]
}

@test "yes | vmrun: a task that never reads ends, and nothing piles up in vmrun" {
    task 'sh -c "grep -cw popcnt /proc/cpuinfo; sleep 3; exit 6"' 'stdin = inherit'
    yes | "$VMRUN" -q --config "$T/task.ini" >"$T/stdout" 2>"$T/stderr" &
    pid=$!
    until [[ -s $T/out/stdout ]]; do sleep 0.2; done
    sleep 1
    kib=$(awk '/^VmHWM/ {print $2}' "/proc/$pid/status")
    status=0
    wait "$pid" || status=$?
    expect nonzero 6
    echo "vmrun had $kib KiB"
    ((kib > 0 && kib < 16384))
    # What cpu_mask hides above is there otherwise.
    [[ $(cat "$T/stdout") == 1 ]]
}

@test "stdin ends for the task where it ends for vmrun, and before the task does" {
    task 'sh -c "wc -c; echo after"' 'stdin = inherit'
    head -c 100000 /dev/zero | run_task -q
    [[ $(cat "$T/stdout") == $'100000\nafter' ]]
}
