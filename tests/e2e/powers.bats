#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The tables of the jails against what is there: tried from inside, and against what real runs use.

setup() {
    [[ -x build/jail/probe ]] || skip "make jail-probe has not been run"
}

@test "each jail lets through its table and nothing else, with the kernel of this machine" {
    run tests/jail/run
    grep -v '^ok' <<<"$output" || true
    [ "$status" -eq 0 ]
    (($(grep -c '^ok' <<<"$output") >= 100))
}

@test "every system call that a jail allows is needed by a run" {
    command -v strace >/dev/null || skip "strace is not installed"
    run tests/jail/used
    grep -v '^ok' <<<"$output" || true
    [ "$status" -eq 0 ]
}
