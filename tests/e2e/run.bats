#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One real guest per test: what a task can do, and what comes back of it.

load e2e.bash

@test "hello: output, verdict, and only what belongs there in the output folder" {
    task 'echo hello'
    run_task
    expect ok 0
    [[ $(cat "$T/stdout") == hello ]]
    [[ $(cat "$T/out/stdout") == hello && ! -s $T/out/stderr ]]
    [[ $(ls "$T/out" | tr '\n' ' ') == "artifacts result.json stderr stdout " ||
        $(ls "$T/out" | tr '\n' ' ') == "result.json stderr stdout " ]]
    [[ $(result .exit_code) == 0 && $(result .signal) == null && $(result .limit) == null ]]
}

@test "stdout and stderr are kept apart" {
    task 'sh -c "echo out; echo err >&2"'
    run_task -q
    expect ok 0
    [[ $(cat "$T/stdout") == out && $(cat "$T/stderr") == err ]]
    [[ $(cat "$T/out/stdout") == out && $(cat "$T/out/stderr") == err ]]
}

@test "exit status 3 comes back as 3" {
    task 'sh -c "exit 3"'
    run_task
    expect nonzero 3
    [[ $(result .exit_code) == 3 ]]
}

@test "death by signal 11 comes back as 139" {
    task 'sh -c "kill -SEGV $$"'
    run_task
    expect signal 139
    [[ $(result .signal) == 11 && $(result .exit_code) == null ]]
}

@test "1 MiB of binary on stdout is byte-exact" {
    head -c 1048576 /dev/urandom >"$T/random"
    task 'cat random' '[input]' "random = $T/random" '[limits]' 'stdout = 2M'
    run_task
    expect ok 0
    cmp "$T/random" "$T/stdout"
    cmp "$T/random" "$T/out/stdout"
    [[ $(result .streams.stdout.total_bytes) == 1048576 ]]
    [[ $(result .streams.stdout.sha256) == "$(sha256sum <"$T/random" | cut -d' ' -f1)" ]]
}

@test "output past its cap is counted and cut, and the task does not notice" {
    task 'sh -c "yes | head -c 300000; exit 7"' '[limits]' 'stdout = 64K'
    run_task -q
    expect nonzero 7
    [[ $(result .streams.stdout.total_bytes) == 300000 && $(result .streams.stdout.truncated) == true ]]
    (($(stat -c %s "$T/out/stdout") <= 65536))
}

@test "the clock of the guest is that of the host, and no boot behind it" {
    local begin end guest started
    task 'date +%s%3N'
    begin=$(date +%s%3N)
    run_task --events
    end=$(date +%s%3N)
    expect ok 0
    guest=$(<"$T/out/stdout")
    started=$(jq -r 'select(.event == "task_started").time_ms' "$T/stdout")
    echo "begin $begin, task started $started ms later, guest $guest, end $end"
    between "$begin + $started - $(result .time.boot_ms) / 2" "$guest" "$end + 50"
}

@test "stdin, stdout and stderr may be closed" {
    task 'echo hello'
    status=0
    "$VMRUN" --config "$T/task.ini" <&- >&- 2>&- || status=$?
    expect ok 0
    [[ $(cat "$T/out/stdout") == hello ]]
}

@test "a caller that ignores SIGCHLD and SIGHUP changes nothing" {
    task 'sh -c "sleep 2; exit 3"'
    (trap '' CHLD HUP && exec "$VMRUN" --config "$T/task.ini" 2>"$T/stderr") &
    for ((i = 0; i < 100; i++)); do
        [[ -e $T/out/stdout ]] && break
        sleep 0.1
    done
    kill -HUP $!
    status=0
    wait $! || status=$?
    expect nonzero 3
    [[ $(result '.host_measured.monitor_cpu_ms > 0') == true ]]
}

@test "stdin: bytes arrive, and end of file too" {
    head -c 200000 /dev/urandom >"$T/in"
    task 'sha256sum' 'stdin = inherit'
    run_task <"$T/in"
    expect ok 0
    [[ $(cut -d' ' -f1 <"$T/out/stdout") == "$(sha256sum <"$T/in" | cut -d' ' -f1)" ]]
}

@test "without stdin the task reads end of file" {
    task 'sh -c "cat; echo done"'
    run_task < <(echo secret)
    expect ok 0
    [[ $(cat "$T/out/stdout") == done ]]
}

@test "environment and working directory are what the task says, and nothing else" {
    export LEAK=leak
    task 'sh -c "pwd; env | sort"' 'workdir = /tmp' '[env]' 'GREETING = hello  world'
    run_task
    expect ok 0
    grep -qx /tmp "$T/out/stdout"
    grep -qx 'GREETING=hello  world' "$T/out/stdout"
    ! grep -q LEAK "$T/out/stdout" || false
}

@test "a missing command is 127" {
    task 'no-such-command'
    run_task
    expect start_failed 127
    grep -q no-such-command "$T/stderr"
}

@test "a file that is not executable is 126" {
    echo 'not a program' >"$T/plain"
    task './plain' '[input]' "plain = $T/plain"
    run_task
    expect start_failed 126
}

@test "a missing working directory is named" {
    task 'true' 'workdir = /no/such/dir'
    run_task
    [[ $(result .status) == start_failed ]]
    grep -q /no/such/dir "$T/stderr"
}

@test "the root is read-only, scratch is writable and has its size" {
    task 'sh -c "touch /usr/x && echo bad; touch /x && echo bad; cp /bin/sh /task/a && cp /bin/sh /tmp/b && df -P --block-size=1M /task | tail -n 1"' \
        '[limits]' 'disk = 96M'
    run_task
    expect ok 0
    ! grep -q bad "$T/out/stdout" || false
    size=$(awk '{print $2}' "$T/out/stdout")
    ((size > 80 && size <= 96))
}

@test "a full scratch disk is ENOSPC in the guest, and bounded on the host" {
    task 'sh -c "dd if=/dev/zero of=/task/big bs=1M count=64 2>/dev/null || echo full"' \
        '[limits]' 'disk = 32M'
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == full ]]
}

@test "root = overlay makes the root writable for the length of the run" {
    task 'sh -c "id -u; touch /etc/x && ls /etc/x"' 'user = root'
    sed -i '/^\[image\]/a root = overlay' "$T/task.ini"
    run_task
    expect ok 0
    grep -qx /etc/x "$T/out/stdout"
}

@test "an artifact comes out byte-exact, its digest in the result" {
    head -c 300001 /dev/urandom >"$T/blob"
    task 'sh -c "mkdir -p out/deep && cp blob out/deep/copy && echo x > out/not-asked-for"' \
        '[input]' "blob = $T/blob" '[artifacts]' 'collect = out/deep/copy'
    run_task
    expect ok 0
    cmp "$T/blob" "$T/out/artifacts/out/deep/copy"
    [[ ! -e $T/out/artifacts/out/not-asked-for ]]
    [[ $(result '.artifacts.list[] | select(.path == "out/deep/copy") | .sha256') == \
        "$(sha256sum <"$T/blob" | cut -d' ' -f1)" ]]
}

@test "a required artifact that is missing fails the run" {
    task 'true' '[artifacts]' 'collect = out.txt' 'required = out.txt'
    run_task
    expect artifacts_failed 125
}

@test "a symlink is not followed out of the guest" {
    task 'sh -c "ln -s /etc/passwd link && echo x > file"' '[artifacts]' 'collect = link, file'
    run_task
    expect ok 0
    [[ ! -e $T/out/artifacts/link && ! -L $T/out/artifacts/link && -f $T/out/artifacts/file ]]
    [[ $(result '.artifacts.skipped[] | select(.path == "link") | .reason') == symlink ]]
}

@test "the guest has no network interface but lo" {
    task 'sh -c "cat /proc/net/dev | tail -n +3"'
    run_task
    expect ok 0
    [[ $(cut -d: -f1 <"$T/out/stdout" | tr -d ' ') == lo ]]
}

@test "the task is an unprivileged user without capabilities, and vsock is closed to it" {
    cat >"$T/probe.py" <<'END'
import os, socket
status = dict(l.split(":", 1) for l in open("/proc/self/status"))
print(os.getuid(), status["CapEff"].strip(), status["CapBnd"].strip(), status["NoNewPrivs"].strip(),
      status["Seccomp"].strip())
for port in range(0, 8):
    try:
        s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        s.connect((2, port))
        print("connected", port)
    except OSError as e:
        print("refused", port)
END
    task 'python3 probe.py' '[input]' "probe.py = $T/probe.py"
    run_task
    expect ok 0
    head -n 1 "$T/out/stdout" | grep -qx '1000 0000000000000000 0000000000000000 1 2'
    ! grep -q connected "$T/out/stdout" || false
    [[ $(grep -c refused "$T/out/stdout") == 8 ]]
}

@test "two vCPUs are two vCPUs" {
    task 'nproc'
    sed -i '/^\[machine\]/a vcpus = 2' "$T/task.ini"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 2 ]]
}

@test "a guest without device tree finds its hardware through the MP table" {
    task 'sh -c "cat /proc/cmdline; echo up"'
    sed -i '/^\[machine\]/a hardware = mptable' "$T/task.ini"
    run_task
    expect ok 0
    grep -qx up "$T/out/stdout"
    grep -q virtio_mmio.device= "$T/out/stdout"
}

@test "a bzImage boots too" {
    task 'echo up'
    sed -i "/^\[machine\]/a kernel = $PWD/build/kernel/bzImage" "$T/task.ini"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == up ]]
}

@test "background processes do not hold up the end" {
    task 'sh -c "setsid sleep 1000 & sleep 1000 & echo done"'
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == done ]]
}

@test "the wall limit ends a task that ignores SIGTERM" {
    task "sh -c 'trap \"\" TERM; while true; do sleep 1; done'" '[limits]' 'wall = 2s'
    run_task
    expect limit 124
    [[ $(result .limit) == wall ]]
}

@test "times and host measurements are in the result, the monitor's memory is small" {
    task 'true'
    run_task
    expect ok 0
    [[ $(result '.time.boot_ms > 0 and .time.total_ms > .time.boot_ms') == true ]]
    [[ $(result '.time | .vm_teardown_ms > 0 and .vm_teardown_ms < .stop_ms') == true ]]
    [[ $(result '.time.teardown_ms >= 0 and .host_measured.monitor_cpu_ms > 0') == true ]]
    [[ $(result '.host_measured.monitor_rss_without_guest_bytes | . > 0 and . < 8 * 1048576') == true ]]
}

@test "two runs in a row leave no process, file or mount behind" {
    task 'echo one' '[artifacts]' 'collect = nothing'
    before_mounts=$(wc -l </proc/self/mountinfo)
    for i in 1 2; do
        rm -rf "$T/out"
        run_task
        expect ok 0
    done
    [[ -z $(ls -A "$T/disks") ]]
    [[ $(wc -l </proc/self/mountinfo) == "$before_mounts" ]]
    ! pgrep '^vmrun' >/dev/null || false
}

@test "doctor says that runs work where they do, and measures it" {
    "$VMRUN" doctor >"$T/report"
    grep -qE '^PASS +KVM guest code: .*[0-9]+ loops' "$T/report"
    ! grep -q '^FAIL' "$T/report" || false
    "$VMRUN" doctor --json >"$T/stdout"
    keep_shown --json
    [[ $(jq .works "$T/stdout") == true ]]
    # The same checks, and the same grades (memory that is left may be just at its bound).
    [[ $(jq -r '.checks[] | select(.subject != "memory") | .grade + " " + .subject' "$T/stdout") == \
        "$(sed -nE '/^[A-Z]+ +memory:/d; s/^([A-Z]+) +([^:]*):.*/\1 \2/p' "$T/report")" ]]
}

@test "a guest runs on a host whose clock the kernel alone can read" {
    local clock=/sys/devices/system/clocksource/clocksource0 was
    [[ ${VMRUN_LAB:-} && $EUID == 0 ]] || skip "the clock of this machine is not ours to choose"
    grep -q hpet "$clock/available_clocksource" || skip "no hpet"
    was=$(<"$clock/current_clocksource")
    task 'true'
    echo hpet >"$clock/current_clocksource"
    run_task
    echo "$was" >"$clock/current_clocksource"
    expect ok 0
}
