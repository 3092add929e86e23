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
    [[ $(result .digests.image) == null && $(result '.digests.changed | length') == 0 ]]
    rm -r "$T/out"
    image=$(cut -c1-64 "$IMAGES/base.sha256")
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
