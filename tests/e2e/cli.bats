#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command line with real guests: exit codes, what stdout is, terminals, Ctrl-C.

load e2e.bash

@test "--exit-code=status tells the task's failure from ours" {
    task 'sh -c "exit 125"'
    run_task --exit-code=status
    expect nonzero 1
    rm -rf "$T/out"
    task 'sleep 30' '[limits]' 'wall = 1s'
    run_task --exit-code=status
    expect limit 2
    rm -rf "$T/out"
    task 'true' '[artifacts]' 'collect = x' 'required = x'
    run_task --exit-code=status
    expect artifacts_failed 3
}

@test "--exit-code=status: a wrong task file is 64, an output folder in use is 3" {
    task 'true' 'hostnam = x'
    run_task --exit-code=status
    [[ $status == 64 && ! -e $T/out ]]
    task 'true'
    mkdir "$T/out"
    echo mine >"$T/out/file"
    run_task --exit-code=status
    [[ $status == 3 ]]
}
