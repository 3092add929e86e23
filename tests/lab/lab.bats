#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# tools/lab against its own promises. One start of the outer machine serves as many checks as fit.

bats_require_minimum_version 1.5.0

setup_file() {
    TREE=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    export TREE
    export LAB=$TREE/tools/lab
    export WORK=$TREE/build/lab/test
    rm -rf "$WORK"
    mkdir -p "$WORK"
    "$LAB" --build
    "${CC:-cc}" -std=gnu17 -O2 -Wall -Wextra -Werror -o "$WORK/kvm_smoke" \
        "$BATS_TEST_DIRNAME/kvm_smoke.c"
}

teardown_file() {
    rm -rf "$WORK"
}

setup() {
    export LAB_TEST_MARK=$BATS_TEST_NUMBER.$$.$RANDOM
}

# The QEMUs of this test, which have its environment: other labs may be running in the same tree.
qemu_list() {
    local pid
    for pid in $(pgrep qemu-system); do
        if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "LAB_TEST_MARK=$LAB_TEST_MARK"; then
            echo "$pid"
        fi
    done
}

no_qemu_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(qemu_list)" ] && return 0
        sleep 0.2
    done
    echo "left: $(qemu_list)"
    return 1
}

# The checks of one machine, as root: each writes a line 'ok NAME' or 'not ok NAME' to a file of the tree.
@test "inside, as root: KVM, namespaces, cgroups, file systems" {
    cat >"$WORK/inside.sh" <<'END'
check() {
    local name=$1
    shift
    if "$@" >/dev/null 2>"$WORK/why"; then echo "ok $name"; else echo "not ok $name: $(<"$WORK/why")"; fi
}
controllers() { [[ " $(<"$1") " == *" cpu "* && " $(<"$1") " == *" io "*
    && " $(<"$1") " == *" memory "* && " $(<"$1") " == *" pids "* ]]; }
check root test "$(id -u)" = 0
check kvm "$WORK/kvm_smoke"
check kvm-mode test "$(stat -c '%a %u' /dev/kvm)" = "660 0"
check cwd test "$PWD" = "$TREE/tests/lab"
check stdin-empty test "$(wc -c)" = 0
check root-controllers controllers /sys/fs/cgroup/cgroup.subtree_control
check own-controllers controllers "/sys/fs/cgroup/$(cut -d: -f3 /proc/self/cgroup)/cgroup.controllers"
check no-other-cgroups test "$(grep -c cgroup /proc/mounts)" = 1
check pids-limit sh -c 'mkdir /sys/fs/cgroup/x && echo 5 >/sys/fs/cgroup/x/pids.max &&
    grep -qx 5 /sys/fs/cgroup/x/pids.max'
check landlock grep -q landlock /sys/kernel/security/lsm
check tracefs test -r /sys/kernel/tracing/available_events
check user-namespace setpriv --reuid 65534 --regid 65534 --clear-groups \
    unshare --user --map-root-user --mount --pid --net --fork true
check pivot-root unshare --mount sh -c 'mount -t tmpfs t /mnt && mkdir /mnt/old && cd /mnt &&
    pivot_root . old'
check tmpfs-tmp test "$(stat -f -c %T /tmp)" = tmpfs
check tmpfs-run test "$(stat -f -c %T /run)" = tmpfs
check tmpfs-shm test "$(stat -f -c %T /dev/shm)" = tmpfs
check o-tmpfile python3 -c 'import os; os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)'
check reopen-stderr sh -c 'echo >/dev/stderr'
check outside-writable sh -c "echo changed >$HOST_FILE && grep -q changed $HOST_FILE"
check loopback grep -q lo: /proc/net/dev
check only-loopback test "$(grep -c : /proc/net/dev)" = 1
check module-on-demand modprobe ext4
check clock test "$(($(date +%s) - NOW))" -lt 20 -a "$(($(date +%s) - NOW))" -ge 0
check mmap-shared python3 -c '
import mmap
f = open("'"$WORK"'/mapped", "w+b"); f.truncate(9000)
m = mmap.mmap(f.fileno(), 0); m[8000:8005] = b"there"; m.close()'
check tree-hash sh -c "cd $WORK && sha256sum --quiet -c random.sha"
head -c 16 /dev/urandom >"$WORK/noise.$1"
head -c 3000000 /dev/urandom >"$WORK/back" && sha256sum <"$WORK/back" >"$WORK/back.sha"
mkdir -p "$WORK/deep/er" && ln -s ../x "$WORK/deep/er/link" && chmod 751 "$WORK/deep"
rm "$WORK/victim"
END
    head -c 2000000 /dev/urandom >"$WORK/random"
    (cd "$WORK" && sha256sum random >random.sha)
    touch "$WORK/victim"
    outside=$(mktemp /var/tmp/lab-test.XXXXXX)
    echo before >"$outside"
    cd "$TREE/tests/lab"
    run --separate-stderr "$LAB" -e WORK="$WORK" -e TREE="$TREE" -e HOST_FILE="$outside" \
        -e NOW="$(date +%s)" bash "$WORK/inside.sh" 1
    echo "$output"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^ok ' <<<"$output")" -eq 25 ]
    [[ "$output" != *"not ok"* ]]
    [ -z "$stderr" ]
    # What came back, and what must not have changed.
    [ "$(sha256sum <"$WORK/back")" = "$(cat "$WORK/back.sha")" ]
    [ "$(tail -c +8001 "$WORK/mapped" | head -c 5)" = there ]
    [ "$(readlink "$WORK/deep/er/link")" = ../x ]
    [ "$(stat -c %a "$WORK/deep")" = 751 ]
    [ ! -e "$WORK/victim" ]
    [ "$(cat "$outside")" = before ]
    rm "$outside"
    # A saved machine must not hand the same randomness to every run.
    "$LAB" sh -c "head -c 16 /dev/urandom >$WORK/noise.2"
    [ "$(wc -c <"$WORK/noise.1")" -eq 16 ]
    run -1 cmp -s "$WORK/noise.1" "$WORK/noise.2"
}

@test "inside, with --user: identity, KVM, a delegated cgroup, a user namespace" {
    cat >"$WORK/user.sh" <<'END'
set -e
test "$(id -u):$(id -g)" = 1000:1000
id -un
test "$HOME" = "$(getent passwd 1000 | cut -d: -f6)" -o "$HOME" = /home/lab
touch "$HOME/mine"
"$WORK/kvm_smoke"
own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
mkdir "$own/leaf" "$own/limited"
echo $$ >"$own/leaf/cgroup.procs"
echo "+memory +pids +cpu +io" >"$own/cgroup.subtree_control"
echo 64M >"$own/limited/memory.max"
echo 7 >"$own/limited/pids.max"
echo "50000 100000" >"$own/limited/cpu.max"
unshare --user --map-root-user --mount --pid --net --fork --mount-proc true
echo reopened >/dev/stderr
! touch /etc/passwd 2>/dev/null || false
echo end
END
    run --separate-stderr "$LAB" --user -e WORK="$WORK" bash "$WORK/user.sh"
    echo "$output"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = end ]
    [ "$stderr" = reopened ]
}

@test "exit statuses and signals come back exactly" {
    for want in 0 3 42 121 125 255; do
        run "$LAB" sh -c "exit $want"
        [ "$status" -eq "$want" ]
        [ -z "$output" ]
    done
    for signal in 9 11 15; do
        run "$LAB" sh -c "kill -$signal \$\$"
        [ "$status" -eq $((128 + signal)) ]
    done
    run -127 "$LAB" no-such-command
    [[ "$output" == "lab: cannot run no-such-command: "* ]]
    run "$LAB" "$WORK/random.sha"
    [ "$status" -eq 126 ]
}

@test "stdout and stderr stay apart and byte-exact, stdin goes in, arguments and environment too" {
    head -c 1048576 /dev/urandom >"$WORK/a"
    head -c 1048576 /dev/urandom >"$WORK/b"
    head -c 700001 /dev/urandom >"$WORK/c"
    value=$'two\nlines \xff\x01 "quoted" \\ $x'
    export LAB_TEST_VALUE=$value
    "$LAB" --stdin -e LAB_TEST_VALUE -e OTHER=a=b -e LAB_TEST_UNSET sh -c '
        cat >$1/c.seen
        printf %s "$LAB_TEST_VALUE" >$1/value.seen
        printf %s "$OTHER,${LAB_TEST_UNSET-unset},${BATS_VERSION-unset}" >$1/other.seen
        printf %s "$2" >$1/arg.seen
        cat $1/a & cat $1/b >&2; wait' \
        sh "$WORK" "$value" <"$WORK/c" >"$WORK/a.seen" 2>"$WORK/b.seen"
    cmp "$WORK/a" "$WORK/a.seen"
    cmp "$WORK/b" "$WORK/b.seen"
    cmp "$WORK/c" "$WORK/c.seen"
    [ "$(cat "$WORK/value.seen")" = "$value" ]
    [ "$(cat "$WORK/arg.seen")" = "$value" ]
    [ "$(cat "$WORK/other.seen")" = "a=b,unset,unset" ]
}

@test "output is shown while the command runs, and a slow reader loses nothing" {
    "$LAB" sh -c 'echo early; sleep 3; echo late' | {
        read -r line
        first=$(date +%s%N)
        [ "$line" = early ]
        read -r line
        [ "$line" = late ]
        [ $((($(date +%s%N) - first) / 1000000)) -ge 2500 ]
    }
    sum=$("$LAB" cat "$WORK/a" | { sleep 3; sha256sum; })
    [ "$sum" = "$(sha256sum <"$WORK/a")" ]
}

@test "a reader that goes away ends the lab" {
    run bash -c '"$LAB" --timeout 30 yes | head -n 1; echo "${PIPESTATUS[0]}"'
    [ "${lines[0]}" = y ]
    [ "${lines[1]}" -eq 141 ]
    no_qemu_left
}

@test "a time limit is told from the command's own status, with what hangs" {
    run --separate-stderr "$LAB" --timeout 8 sh -c "echo kept >$WORK/kept; echo out; sleep 1234"
    [ "$status" -eq 122 ]
    [ "$output" = out ]
    [[ "$stderr" == *"lab: time limit of 8 s reached"* ]]
    [[ "$stderr" == *"the outer machine is alive"* ]]
    [[ "$stderr" == *"sleep 1234"* ]]
    [ "$(cat "$WORK/kept")" = kept ]
    no_qemu_left
}

@test "a machine that falls silent is told from a command that hangs, with what it does" {
    run --separate-stderr "$LAB" --timeout 100 -- sh -c 'echo -1 >/proc/sys/kernel/sched_rt_runtime_us
        exec chrt -f 99 sh -c "while :; do :; done"'
    [ "$status" -eq 123 ]
    [[ "$stderr" == *"the outer machine stalled after the command was started: no sign of life for 30 s"* ]]
    [[ "$stderr" == *"VM status: running"* ]]
    [[ "$stderr" == *"local APIC state"* ]]
    [[ "$stderr" == *"RIP="* ]]
}

@test "an outer panic is a failure of the lab; it is not retried once the command runs" {
    run --separate-stderr "$LAB" --timeout 60 sh -c 'echo once; echo c >/proc/sysrq-trigger'
    [ "$status" -eq 123 ]
    [ "$output" = once ]
    [[ "$stderr" == *"lab: the outer kernel panicked after the command was started"* ]]
    [[ "$stderr" != *retrying* ]]
    no_qemu_left
}

@test "an outer panic before the command is retried once, visibly" {
    run --separate-stderr "$LAB" --timeout 60 --append rdinit=/nothing true
    [ "$status" -eq 123 ]
    [ "$(grep -c '^lab: the outer kernel panicked before' <<<"$stderr")" -eq 2 ]
    [ "$(grep -c '^lab: retrying once' <<<"$stderr")" -eq 1 ]
    no_qemu_left
}

@test "a signal ends everything" {
    "$LAB" sleep 100 3>&- &
    lab=$!
    sleep 2
    [ -n "$(qemu_list)" ]
    kill -TERM "$lab"
    status=0
    wait "$lab" || status=$?
    [ "$status" -eq 143 ]
    no_qemu_left
    "$LAB" sleep 100 3>&- &
    lab=$!
    sleep 2
    kill -KILL "$lab"
    no_qemu_left
}

@test "processors, memory, a cold start and counted instructions can be asked for" {
    run "$LAB" --cold --cpus 2 --memory 1G sh -c 'nproc; grep MemTotal /proc/meminfo; "$0"' \
        "$WORK/kvm_smoke"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" -eq 2 ]
    [ "$(awk '/MemTotal/ {print ($2 < 1050000 && $2 > 900000)}' <<<"$output")" -eq 1 ]
    run "$LAB" --icount "$WORK/kvm_smoke"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "wrong usage is refused with a remedy" {
    for options in "--nonsense true" "--cpus 0 true" "--memory much true" "--timeout x true" "-e" \
        "-e 1x true" ""; do
        # shellcheck disable=SC2086
        run "$LAB" $options
        echo "$options: $output"
        [ "$status" -eq 121 ]
        [[ "$output" == "lab: "* ]]
    done
    cd /tmp
    directory=$(mktemp -d)
    cd "$directory"
    run "$LAB" true
    [ "$status" -eq 121 ]
    [[ "$output" == *"$directory"* ]]
    rmdir "$directory"
}
