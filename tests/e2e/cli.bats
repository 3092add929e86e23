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

# shell_task TEXT: a task that is the shell script TEXT; [input] is the open section.
shell_task() {
    echo "$1" >"$T/script.sh"
    task 'sh script.sh'
    printf '[input]\nscript.sh = %s\n' "$T/script.sh" >>"$T/task.ini"
}

# decoded STREAM: the output that the events of $T/stdout hold, put together.
decoded() {
    python3 - "$T/stdout" "$1" <<'END'
import base64, json, sys
for line in open(sys.argv[1], "rb"):
    event = json.loads(line)
    if event["event"] == "output" and event["stream"] == sys.argv[2]:
        assert ("text" in event) + ("b64" in event) + ("cut" in event) == 1
        sys.stdout.buffer.write(
            event["text"].encode() if "text" in event else base64.b64decode(event.get("b64", "")))
END
}

@test "--events: lines of JSON, the whole life in order, the output byte-exact" {
    { printf 'text \303\244 \360\237\230\200\n'; head -c 200000 /dev/urandom; } >"$T/mixed"
    shell_task 'cat mixed; printf "\303"; sleep 1; printf "\244"; echo err >&2; exit 4'
    echo "mixed = $T/mixed" >>"$T/task.ini"
    run_task --events
    expect nonzero 4
    jq -es . "$T/stdout" >/dev/null
    [[ $(jq -r 'select(.event != "output") | .event' "$T/stdout" | tr '\n' ' ') == \
        "started booted task_started exited exported done " ]]
    [[ $(tail -n 1 "$T/stdout" | jq -c '[.event, .status, .exit_code, .vmrun_exit_code]') == \
        '["done","nonzero",4,4]' ]]
    decoded stdout >"$T/decoded"
    cmp "$T/decoded" "$T/out/stdout"
    cmp -n "$(stat -c %s "$T/mixed")" "$T/decoded" "$T/mixed"
    [[ $(decoded stderr) == err ]]
    # The character that was written in two pieces is one again.
    [[ $(jq -r 'select(.stream == "stdout") | .text // empty' "$T/stdout" | tail -n 1) == ä ]]
}

@test "--events: past the cap one cut, then the tail" {
    task 'sh -c "seq 100000"' '[limits]' 'stdout = 64K'
    run_task --events -q
    expect ok 0
    [[ $(jq -c 'select(.cut) | .cut' "$T/stdout") == true ]]
    cmp "$T/out/stdout" <(seq 100000 | head -c 49152; seq 100000 | tail -c 16384)
    # Shown is what comes, until the cap is passed: three quarters of it at least, and all of it at most.
    decoded stdout >"$T/decoded"
    head=$(($(stat -c %s "$T/decoded") - 16384))
    ((49152 <= head && head <= 65536))
    cmp "$T/decoded" <(seq 100000 | head -c "$head"; seq 100000 | tail -c 16384)
    [[ $(jq -j 'select(.event == "output") | .text' "$T/stdout" | tail -n 1) == 100000 ]]
    [[ $(tail -n 1 "$T/stdout" | jq -c .limits_hit) == '["stdout"]' ]]
}

@test "--json: stdout is the result and nothing else" {
    task 'sh -c "echo out; echo err >&2; exit 5"'
    run_task --json -q
    expect nonzero 5
    cmp "$T/stdout" "$T/out/result.json"
    [[ ! -s $T/stderr && $(cat "$T/out/stdout") == out && $(cat "$T/out/stderr") == err ]]
}

@test "--timing adds a table of the phases to stderr, -q or not" {
    task 'true'
    run_task -q --timing
    expect ok 0
    grep -Eq '^vmrun: boot +[0-9.]+ +[0-9.]+ %$' "$T/stderr"
    grep -Eq '^vmrun: total +[0-9.]+ +100\.0 %$' "$T/stderr"
    [[ ! -s $T/stdout ]]
}

@test "-v says what happens when" {
    task 'true'
    run_task -v
    expect ok 0
    grep -Eq '^vmrun: +[0-9.]+ ms  the guest has booted, Linux' "$T/stderr"
    grep -Eq '^vmrun: +[0-9.]+ ms  the task ended: exit code 0' "$T/stderr"
}

# on_terminal [OPTIONS]: as run_task, but stdin, stdout and stderr are one terminal; $T/screen.
on_terminal() {
    status=0
    script -qec "$VMRUN --config $T/task.ini $*" "$T/typescript" >"$T/screen" </dev/null || status=$?
}

@test "on a terminal: output is escaped, past the cap one marker and the tail, progress is erased" {
    shell_task 'printf "\033[2Jhello\n"; sleep 3; seq 100000'
    printf '[limits]\nstdout = 16K\n' >>"$T/task.ini"
    on_terminal
    expect ok 0
    grep -qF '\x1b[2Jhello' "$T/screen"
    [[ $(grep -c 'stdout is past its limit of 16384 bytes' "$T/screen") == 1 ]]
    # The tail comes after the marker, and the last line of the task is there.
    sed -n '/past its limit/,$p' "$T/screen" | tr -d '\r' | grep -q '^99999$'
    # Progress was shown; the only sequences that reach the terminal are those that erase it.
    grep -q 'vmrun: running, [0-9]* s of 60 s' "$T/screen"
    [[ -z $(sed 's/\r\x1b\[K//g' "$T/screen" | grep $'\x1b') ]]
    python3 - "$T/screen" <<'END'
import re, sys
screen = open(sys.argv[1], "rb").read()
# What a person sees in the end: of each line only what follows the last erasure.
seen = b"\n".join(line.split(b"\r\033[K")[-1] for line in screen.split(b"\n"))
assert not re.search(rb"running, \d+ s of", seen), seen[:300]
END
}

@test "only one of the two is a terminal: it is escaped, the other is not" {
    shell_task 'printf "\033[1mout"; printf "\033[1merr" >&2'
    status=0
    script -qec "$VMRUN -q --config $T/task.ini 2>$T/stderr" "$T/typescript" >"$T/screen" \
        </dev/null || status=$?
    expect ok 0
    grep -qF '\x1b[1mout' "$T/screen"
    [[ $(cat "$T/stderr") == $'\033[1merr' ]]
}

@test "no progress and no escape sequence when stderr is no terminal" {
    task 'sleep 3'
    run_task
    expect ok 0
    ! grep -q $'\033' "$T/stderr" || false
    ! grep -q running "$T/stderr" || false
}

# interrupted SIGNAL: start the task and send SIGNAL once the task has said "ready". What the second
# signal does stands in actor.bats, with a guest that cannot end by itself.
interrupted() {
    # A shell has its background jobs ignore SIGINT.
    env --default-signal=INT "$VMRUN" --config "$T/task.ini" >"$T/stdout" 2>"$T/stderr" 3>&- &
    local pid=$!
    wait_for 60 grep -qs ready "$T/out/stdout"
    kill "-$1" "$pid"
    status=0
    wait "$pid" || status=$?
    cat "$T/stderr"
    result '{exit_code, signal, limits_hit, artifacts, time}'
}

@test "Ctrl-C: the task is told, its artifacts come out, the result says cancelled" {
    shell_task 'trap "echo told > note; exit 0" TERM; echo ready; sleep 60 & wait'
    printf '[artifacts]\ncollect = note\n' >>"$T/task.ini"
    interrupted INT
    expect cancelled 130
    [[ $(cat "$T/out/artifacts/note") == told ]]
    grep -q 'a second signal ends the run at once' "$T/stderr"
    [[ $(result .streams.stdout.kept_bytes) == 6 ]]
}

@test "SIGTERM does the same, with 143" {
    task "sh -c 'echo x > note; echo ready; sleep 60'" '[artifacts]' 'collect = note'
    interrupted TERM
    expect cancelled 143
    [[ $(cat "$T/out/artifacts/note") == x ]]
}

@test "--plan: the addresses are those that the guest is told" {
    task 'cat /proc/cmdline'
    sed -i '/^\[machine\]/a hardware = mptable' "$T/task.ini"
    run_task --plan --json
    cp "$T/stdout" "$T/plan"
    run_task -q
    expect ok 0
    [[ $(grep -o 'virtio_mmio.device=[^ ]*' "$T/stdout" | sed 's/.*@//' | tr '\n' ' ') == \
        "$(jq -r '.plan.devices[] | "\(.gpa):\(.gsi)"' "$T/plan" | tr '\n' ' ')" ]]
}
