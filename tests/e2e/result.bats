#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What result.json says of what the run was made from, and that it is written when little else can be.

load e2e.bash

digest() {
    sha256sum <"$1" | cut -d' ' -f1
}

@test "digests of config and kernel are in every result, that of the image where it is asked for" {
    task 'echo hi'
    run_task
    expect ok 0
    [[ $(result .digests.config) == "$(digest "$T/task.ini")" ]]
    [[ $(result .digests.kernel) == "$(digest build/kernel/vmlinux)" ]]
    image=$(cut -c1-64 "$IMAGES/base.sha256")
    # Learnt at the end of the run, of a file that nobody else can write.
    if [[ $(stat -c %u "$IMAGES/base.erofs") == "$EUID" ]]; then
        [[ $(result .digests.image) == "$image" ]]
    else
        [[ $(result .digests.image) == null ]]
    fi
    [[ $(result '.digests.changed | length') == 0 ]]
    rm -r "$T/out"
    sed -i "/^\[image\]/a sha256 = $image" "$T/task.ini"
    run_task
    expect ok 0
    [[ $(result .digests.image) == "$image" ]]
}

@test "a run that never came to a task has its digests" {
    printf 'not a cpio archive' >"$T/initramfs"
    task 'true'
    sed -i "/^\[machine\]/a initramfs = $T/initramfs" "$T/task.ini"
    run_task
    expect guest_failed 125
    [[ $(result .digests.kernel) == "$(digest build/kernel/vmlinux)" ]]
}

# touch_while_running FILE: once the task has said something.
touch_while_running() {
    until [[ -s $T/out/stdout ]]; do sleep 0.2; done
    touch "$1"
}

@test "a kernel that is written while the run goes on is told, and so is a changed image" {
    cp build/kernel/vmlinux "$T/kernel"
    cp "$IMAGES/base.erofs" "$T/image"
    task 'sh -c "echo on; sleep 2"'
    sed -i "s|^path = .*|path = $T/image|; /^\[machine\]/a kernel = $T/kernel" "$T/task.ini"
    touch_while_running "$T/kernel" &
    run_task
    expect ok 0
    grep -q "$T/kernel was written while the run went on" "$T/stderr"
    [[ $(result .digests.kernel) == null && $(result '.digests.changed | tojson') == '["kernel"]' ]]
    rm -r "$T/out"
    sed -i "/^\[image\]/a sha256 = $(digest "$T/image")" "$T/task.ini"
    touch_while_running "$T/image" &
    run_task
    expect infra 125
    [[ $(result '.digests.changed | tojson') == '["image"]' && $(result .reason) == *sha256* ]]
    wait
}

# fill DIR: nothing more fits there.
fill() {
    cat /dev/zero >"$1/filler" 2>/dev/null || true
}

@test "on a disk that the output fills the verdict is written all the same" {
    mkdir "$T/small"
    mount -t tmpfs -o size=512k none "$T/small"
    task 'sh -c "yes | head -c 2000000; exit 3"' '[limits]' 'stdout = 4M'
    sed -i "s|^dir = .*|dir = $T/small/out|" "$T/task.ini"
    run_task -q
    [[ $status == 125 ]]
    [[ $(jq -r .status "$T/small/out/result.json") == infra ]]
    jq -r .reason "$T/small/out/result.json" | grep -q "No space left"
    umount "$T/small"
}

@test "a disk that is full before the run refuses it" {
    mkdir "$T/small"
    mount -t tmpfs -o size=512k none "$T/small"
    fill "$T/small"
    task 'true'
    sed -i "s|^dir = .*|dir = $T/small/out|" "$T/task.ini"
    run_task
    [[ $status == 125 && $(wc -l <"$T/stderr") == 1 ]]
    grep -q "no room for result.json" "$T/stderr"
    [[ -z $(ls -A "$T/small/out") ]]
    umount "$T/small"
}

@test "stdout that cannot be written is told, and is an error when the task had none" {
    task 'echo hello'
    status=0
    "$VMRUN" -q --config "$T/task.ini" >/dev/full 2>"$T/stderr" || status=$?
    [[ $status == 125 && $(wc -l <"$T/stderr") == 1 ]]
    grep -q "stdout could not be written: No space left on device" "$T/stderr"
    [[ $(result .status) == ok && $(cat "$T/out/stdout") == hello ]]
    rm -r "$T/out"
    task 'sh -c "echo hello; exit 4"'
    status=0
    "$VMRUN" -q --config "$T/task.ini" >/dev/full 2>"$T/stderr" || status=$?
    [[ $status == 4 ]]
    grep -q "stdout could not be written" "$T/stderr"
}

@test "a reader that goes away is no error" {
    task 'sh -c "yes | head -c 1000000"'
    status=0
    "$VMRUN" -q --config "$T/task.ini" 2>"$T/stderr" | head -n 1 >/dev/null || status=$?
    [[ ${PIPESTATUS[0]} == 0 && ! -s $T/stderr ]]
}
