#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# For each limit a task that stays inside, one that is at it where that is exact, and one past it.

load e2e.bash

# limits_hit, sorted, with spaces.
hits() {
    result '.limits_hit | sort | join(" ")'
}

# script NAME: stdin becomes an input of the next task.
script() {
    cat >"$T/$1"
}

claimed_cpu_ms() {
    result '.guest_claims | .cpu_user_ms + .cpu_system_ms'
}

@test "cpu: a task that sleeps does not use it, one that stays inside ends by itself" {
    # As long as it takes until the guest has counted 0.4 s (hundredths, after the name in parentheses),
    # and nothing large to start: all else that counts is what a busy host takes meanwhile.
    script burn.sh <<'END'
used=0
while [ $used -lt 40 ]; do
    read -r stat </proc/self/stat
    set -- ${stat##*) }
    used=$((${12} + ${13}))
done
sleep 1.8
END
    task 'sh burn.sh' '[limits]' 'cpu = 2s' '[input]' "burn.sh = $T/burn.sh"
    run_task
    expect ok 0
    [[ -z $(hits) && $(result .limits.cpu_ms) == 2000 ]]
    between 400 "$(claimed_cpu_ms)" 2200
    between 2100 "$(result .guest_claims.run_ms)" 30000
}

@test "cpu: all processes count together, and the limit ends a busy loop" {
    task "sh -c 'while :; do :; done & while :; do :; done'" '[limits]' 'cpu = 1s'
    run_task
    expect limit 124
    [[ $(result .limit) == cpu && $(hits) == cpu ]]
    between 1000 "$(claimed_cpu_ms)" 1300
    between 900 "$(result .time.run_ms)" 4000
}

@test "cpu: ignoring SIGTERM in a session of its own gains the grace and no more" {
    task "sh -c 'trap \"\" TERM; setsid sh -c \"while :; do :; done\" & while :; do :; done'" \
        '[limits]' 'cpu = 1s' 'wall = 30s'
    sed -i '/^\[machine\]/a vcpus = 2' "$T/task.ini"
    run_task
    expect limit 124
    [[ $(result .limit) == cpu && $(result .signal) == 9 ]]
    between 1000 "$(claimed_cpu_ms)" 2500
}

@test "idle: output in time keeps a task alive, on either stream" {
    task "sh -c 'for i in 1 2 3; do sleep 0.5; echo \$i; sleep 0.5; echo \$i >&2; done'" \
        '[limits]' 'idle = 2s'
    run_task -q
    expect ok 0
    [[ -z $(hits) && $(wc -l <"$T/out/stdout") == 3 && $(result .limits.idle_ms) == 2000 ]]
}

@test "idle: sleeping for ever, output only at the start" {
    task "sh -c 'echo here; trap \"\" TERM; while :; do sleep 60; done'" '[limits]' 'idle = 1s'
    run_task
    expect limit 124
    [[ $(result .limit) == idle && $(hits) == idle && $(cat "$T/out/stdout") == here ]]
    between 1000 "$(result .guest_claims.run_ms)" 2500
}

@test "processes: exactly as many as allowed; the next is refused and noted" {
    script forks.py <<'END'
import os, signal, sys
children = []
try:
    while len(children) < int(sys.argv[1]):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except BlockingIOError:
    pass
print(len(children))
END
    task 'python3 forks.py 15' '[limits]' 'processes = 16' '[input]' "forks.py = $T/forks.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 15 && -z $(hits) ]]
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 forks.py 16/' "$T/task.ini"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 15 && $(hits) == processes ]]
}

@test "processes: a fork bomb stays inside, and is gone with the run" {
    task "sh -c 'b() { b | b & }; b; sleep 1; echo out'" '[limits]' 'processes = 64' 'wall = 20s'
    run_task -q
    [[ $(result .status) == ok || $(result .status) == nonzero || $(result .limit) == wall ]]
    [[ " $(hits) " == *" processes "* ]]
    between 0 "$(result .time.total_ms)" 30000
}

@test "memory: inside, and past it" {
    script eat.py <<'END'
import sys
eaten = b"x" * (int(sys.argv[1]) << 20)
print(len(eaten) >> 20)
END
    task 'python3 eat.py 40' '[limits]' 'memory = 64M' '[input]' "eat.py = $T/eat.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 40 && -z $(hits) ]]
    between 40000000 "$(result .guest_claims.memory_peak_bytes)" 67108864
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 eat.py 80/' "$T/task.ini"
    run_task
    expect limit 137
    [[ $(result .limit) == memory && $(hits) == memory && $(result .signal) == 9 ]]
    between 60000000 "$(result .guest_claims.memory_peak_bytes)" 67108864
    [[ $(result .guest_claims.oom_kills) -ge 1 ]]
    # Nobody outlives it, not even who did not eat.
    rm -r "$T/out"
    sed -i 's/^command.*/command = sh -c "python3 eat.py 80; echo survived"/' "$T/task.ini"
    run_task
    expect limit 137
    [[ $(result .limit) == memory && ! -s $T/out/stdout ]]
}

@test "memory: a host that has too little is told from the task's limit and from a crash" {
    local base=/sys/fs/cgroup/oom-test
    ((EUID == 0)) && grep -qs memory /sys/fs/cgroup/cgroup.subtree_control || skip "no cgroup v2 of our own"
    script eat.py <<'END'
eaten = b"x" * (180 << 20)
END
    task 'python3 eat.py' '[input]' "eat.py = $T/eat.py"
    mkdir "$base"
    echo 120M >"$base/memory.max"
    status=0
    sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" --config "$3" --set limits.boot=60s' sh \
        "$base" "$VMRUN" "$T/task.ini" >"$T/stdout" 2>"$T/stderr" || status=$?
    keep_result "$T/out"
    rmdir "$base"
    expect infra 125
    [[ $(result .limit) == null && -z $(hits) ]]
    [[ $(result .reason) == *"vmrun-monitor was killed by signal 9 (Killed): this host, or a cgroup around vmrun, ran out of memory; "* ]]
}

@test "open files: exactly as many as allowed" {
    script open.py <<'END'
import errno, os
try:
    while True:
        last = os.open("/dev/null", os.O_RDONLY)
except OSError as e:
    assert e.errno == errno.EMFILE
print(last + 1)
END
    task 'python3 open.py' '[limits]' 'open_files = 40' '[input]' "open.py = $T/open.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 40 ]]
}

@test "disk: a task that leaves room has not hit it, one that fills it has" {
    script fill.py <<'END'
import errno, os, sys
total, block = 0, b"x" * 65536
with open("/task/big", "wb", buffering=0) as big:
    try:
        while total < int(sys.argv[1]) << 20:
            total += big.write(block)
    except OSError as e:
        assert e.errno == errno.ENOSPC
print(total >> 20)
END
    task 'python3 fill.py 20' '[limits]' 'disk = 32M' '[input]' "fill.py = $T/fill.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 20 && -z $(hits) ]]
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 fill.py 64/' "$T/task.ini"
    run_task
    expect ok 0
    between 24 "$(cat "$T/out/stdout")" 32
    [[ $(hits) == disk ]]
    between 0 "$(result .host_measured.disk_bytes.scratch)" $((32 << 20))
}

@test "disk: what a task removes is room on the host again" {
    task 'sh -c "head -c 20M /dev/zero | tr \\0 x >big; sync; stat -c %b big; rm big; sync"' '[limits]' 'disk = 64M'
    run_task
    expect ok 0
    ((20 << 11 <= $(cat "$T/out/stdout"))) # it was there, in blocks of 512 bytes
    between 0 "$(result .host_measured.disk_bytes.scratch)" $((8 << 20))
}

# With inodes = 100: the program itself is one, the folder /task another.
readonly MAKE_FILES='
import errno, os, sys
made = 0
folders = sys.argv[2:]
try:
    while made < int(sys.argv[1]):
        open(folders[made % len(folders)] + "/f%d" % made, "w").close()
        made += 1
except OSError as e:
    assert e.errno in (errno.EDQUOT, errno.ENOSPC), e
print(made)
'

@test "inodes: exactly as many as allowed, in all places together" {
    script make.py <<<"$MAKE_FILES"
    task 'python3 make.py 98 /task /tmp' '[limits]' 'inodes = 100' '[input]' \
        "make.py = $T/make.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 98 && -z $(hits) ]]
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 make.py 99 \/task \/tmp/' "$T/task.ini"
    run_task
    expect ok 0
    # None was refused, but none would be left for another.
    [[ $(cat "$T/out/stdout") == 99 && $(hits) == inodes && $(result .limits.inodes) == 100 ]]
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 make.py 200 \/task \/tmp/' "$T/task.ini"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 99 && $(hits) == inodes ]]
}

@test "inodes: root is held to them too, and so is an overlay over the root" {
    script make.py <<<"$MAKE_FILES"
    task 'python3 make.py 200 /etc /task' 'user = root' '[limits]' 'inodes = 100' '[input]' \
        "make.py = $T/make.py"
    sed -i '/^\[image\]/a root = overlay' "$T/task.ini"
    run_task
    expect ok 0
    between 90 "$(cat "$T/out/stdout")" 99
    [[ $(hits) == inodes ]]
}

@test "disk: full is less than 64 KiB" {
    script fill.py <<'END'
import os, sys
want = int(sys.argv[1])
with open("/task/big", "wb") as big:
    size = 0
    while True:
        room = os.statvfs("/task")
        left = room.f_bavail * room.f_bsize
        if left <= want:
            break
        size += min(left - want, 1 << 20)
        os.posix_fallocate(big.fileno(), 0, size)
    print(left)
END
    task 'python3 fill.py 65536' '[limits]' 'disk = 32M' '[input]' "fill.py = $T/fill.py"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 65536 && -z $(hits) ]]
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 fill.py 61440/' "$T/task.ini"
    run_task
    expect ok 0
    [[ $(cat "$T/out/stdout") == 61440 && $(hits) == disk && $(result .limits.disk_bytes) == 33554432 ]]
}

@test "wall: a task inside it ends by itself; one past it is ended, and it counts from the start of the task" {
    task 'sleep 1' '[limits]' 'wall = 4s'
    run_task
    expect ok 0
    [[ -z $(hits) && $(result .limits.wall_ms) == 4000 ]]
    between 1000 "$(result .guest_claims.run_ms)" 3900
    rm -r "$T/out"
    sed -i 's/^command.*/command = sleep 60/' "$T/task.ini"
    run_task
    expect limit 124
    [[ $(result .limit) == wall && $(hits) == wall && $(result .signal) == 15 ]]
    between 4000 "$(result .guest_claims.run_ms)" 5500
}

@test "stdout and stderr: inside, at and one past: what is counted, kept, and cut out of the middle" {
    script write.py <<'END'
import os, sys
data = b"".join(b"%07d\n" % i for i in range(1024))
os.write(1, data[:int(sys.argv[1])])
os.write(2, data[:int(sys.argv[2])])
END
    # whole NAME TOTAL: all of the stream is there.
    whole() {
        [[ $(result ".streams.$1 | [.total_bytes, .kept_bytes, .truncated] | @csv") == "$2,$2,false" ]]
        cmp <(head -c "$2" "$T/data") "$T/out/$1"
        [[ $(result ".streams.$1.sha256") == "$(head -c "$2" "$T/data" | sha256sum | cut -d' ' -f1)" ]]
    }
    seq -f %07g 0 1023 >"$T/data"
    task 'python3 write.py 4095 4096' '[limits]' 'stdout = 4K' 'stderr = 4K' '[input]' \
        "write.py = $T/write.py"
    run_task -q
    expect ok 0
    [[ -z $(hits) && $(result .limits.stdout_bytes) == 4096 ]]
    whole stdout 4095
    whole stderr 4096
    rm -r "$T/out"
    sed -i 's/^command.*/command = python3 write.py 4096 4097/' "$T/task.ini"
    run_task -q
    expect ok 0
    whole stdout 4096
    [[ $(hits) == stderr ]]
    [[ $(result '.streams.stderr | [.total_bytes, .kept_bytes, .truncated] | @csv') == 4097,4096,true ]]
    # The first three quarters and the last: one byte is missing between them.
    cmp <(head -c 3072 "$T/data"; head -c 4097 "$T/data" | tail -c 1024) "$T/out/stderr"
}
