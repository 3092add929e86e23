#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tasks that do not want to end, or make starting and ending hard: the verdict is right all the same.

load e2e.bash

@test "a daemon that ignores SIGTERM ends with the wall limit, and so does all that it started" {
    cat >"$T/daemon" <<'END'
trap '' TERM HUP INT
(setsid sh -c '(sleep 1000 &); exec sleep 1000' &)
echo up
while :; do sleep 60; done
END
    task 'sh daemon' '[limits]' 'wall = 3s' '[input]' "daemon = $T/daemon"
    run_task
    expect limit 124
    [[ $(result .limit) == wall && $(result .signal) == 9 ]]
    [[ $(result '.limits_hit | join(" ")') == wall && $(cat "$T/out/stdout") == up ]]
    [[ $(result '.time.run_ms < 6000') == true ]]
}

@test "a task that closed every descriptor still has its exit status, or its limit" {
    cat >"$T/close.py" <<'END'
import os, sys, time
os.closerange(0, 1024)
time.sleep(float(sys.argv[1]))
os._exit(5)
END
    task 'python3 close.py 0.2' '[input]' "close.py = $T/close.py"
    run_task
    expect nonzero 5
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 close.py 60/' "$T/task.ini"
    run_task --set limits.idle=2s
    expect limit 124
    [[ $(result .limit) == idle ]]
}

@test "with one process allowed a program starts, and cannot start another" {
    task 'sh -c "echo one; ls / | cat; echo not reached"' '[limits]' 'processes = 1'
    run_task -q
    [[ $(result .status) == nonzero && $(result .exit_code) == 2 ]]
    [[ $(cat "$T/out/stdout") == one && $(result '.limits_hit | join(" ")') == processes ]]
}

@test "hundreds of arguments and variables of a thousand bytes arrive whole" {
    local long
    long=$(printf '%01000d' 0)
    task 'true'
    sed -i '/^command/d' "$T/task.ini"
    {
        printf 'argv.0 = sh\nargv.1 = -c\nargv.2 = echo $# ${#1} ${#300}; env | grep -c "^V.*=0*$"\nargv.3 = sh\n'
        for ((i = 4; i < 304; i++)); do printf 'argv.%d = %s\n' "$i" "$long"; done
        printf '[env]\n'
        for ((i = 0; i < 200; i++)); do printf 'V%d = %s\n' "$i" "$long"; done
    } >"$T/many"
    sed -i "/^name = t/r $T/many" "$T/task.ini"
    run_task
    expect ok 0
    [[ $(tr '\n' ' ' <"$T/out/stdout") == "300 1000 1000 200 " ]]
}

@test "arguments and variables that fill a task file to its last byte arrive whole" {
    # A line is at most 32768 bytes, a file 1 MiB. The last variable takes what is left.
    local long left bytes
    long=$(printf '%032000d' 0)
    {
        printf '[task]\nname = t\nargv.0 = sh\nargv.1 = -c\n'
        # shellcheck disable=SC2016
        printf 'argv.2 = n=0; for w; do n=$((n + ${#w})); done; echo $# $n; env | grep "^V" | wc -c\n'
        printf 'argv.3 = sh\n'
        for ((i = 4; i < 20; i++)); do printf 'argv.%d = %s\n' "$i" "$long"; done
        printf '[image]\npath = %s\n[machine]\nmemory = 256M\nworkdir = %s\nworkdir_tmpfs = yes\n' \
            "$IMAGES/base.erofs" "$T/disks"
        printf '[output]\ndir = out\n[env]\n'
        for ((i = 10; i < 26; i++)); do printf 'V%d = %s\n' "$i" "$long"; done
        printf 'W = '
    } >"$T/task.ini"
    left=$(((1 << 20) - $(stat -c %s "$T/task.ini")))
    ((0 < left && left < 32768))
    printf "%0${left}d" 0 >>"$T/task.ini"
    [[ $(stat -c %s "$T/task.ini") == $((1 << 20)) ]]
    run_task
    expect ok 0
    # Sixteen of each; a variable has its name, "=" and a newline.
    [[ $(tr '\n' ' ' <"$T/out/stdout") == "16 $((16 * 32000)) $((16 * (32000 + 5))) " ]]
    printf 0 >>"$T/task.ini"
    rm -r "$T/out"
    run_task
    [[ $status == 125 && ! -e $T/out ]]
}

@test "a script with carriage returns is 126, and the message says why" {
    printf '#!/bin/sh\r\necho never\r\n' >"$T/script"
    chmod 755 "$T/script"
    task './script' '[input]' "script = $T/script"
    run_task
    expect start_failed 126
    [[ $(result .reason) == *carriage* ]]
}

@test "shell = yes: pipes, variables and quotes are the shell's" {
    task "X=\"a b\"; echo \$X | tr a-z A-Z; it() { exit 9; }; it" 'shell = yes'
    run_task
    expect nonzero 9
    [[ $(cat "$T/out/stdout") == "A B" ]]
}
