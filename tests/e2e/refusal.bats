#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What bad input gets: one clear line, exit 125, nothing created; or a verdict. Never a hang or a crash.

load e2e.bash

# refused PATTERN: the last run was refused, said why in its first line, and created nothing.
refused() {
    if [[ $status != 125 ]] || ! grep -qE "$1" "$T/stderr" || [[ -e $T/out ]] ||
        [[ -n $(ls -A "$T/disks") ]]; then
        echo "exit $status"
        cat "$T/stderr"
        ls -la "$T"
        return 1
    fi
}

# $T/kernel: our kernel with the bytes HEX at its entry point.
kernel_that_begins_with() {
    python3 - build/kernel/vmlinux "$T/kernel" "$1" <<'END'
import struct, sys
elf = bytearray(open(sys.argv[1], "rb").read())
entry, table = struct.unpack_from("<QQ", elf, 24)
count = struct.unpack_from("<H", elf, 56)[0]
for i in range(count):
    kind, _, offset, _, physical, size = struct.unpack_from("<IIQQQQ", elf, table + 56 * i)
    if kind == 1 and physical <= entry < physical + size:
        patch = bytes.fromhex(sys.argv[3])
        elf[offset + entry - physical : offset + entry - physical + len(patch)] = patch
        open(sys.argv[2], "wb").write(elf)
        sys.exit(0)
sys.exit("no segment holds the entry point")
END
}

@test "a wrong key names file, line, key and the nearest right one" {
    task 'true' 'hostnam = x'
    run_task
    refused 'task\.ini:4:.*hostnam.*hostname'
}

@test "a file that is no task file does not fill the screen" {
    yes '[' | head -n 100000 >"$T/task.ini"
    run_task
    [[ $status == 125 && $(wc -l <"$T/stderr") == 31 ]]
    grep -q 'task.ini:1: ' "$T/stderr"
}

@test "what a task file has in it steers no terminal: errors, --check and paths" {
    local name=$T/$'p\x1b\x7f\xc2\x9b.ini'
    task 'true' $'k\x7f\xc2\x9b = x' $'[se\x7f\xc2\x9bct]'
    mv "$T/task.ini" "$name"
    "$VMRUN" --config "$name" 2>"$T/stderr" && false
    grep -F '] k\x7f\xc2\x9b: unknown key' "$T/stderr"
    grep -F '[se\x7f\xc2\x9bct]: unknown section' "$T/stderr"
    grep -F 'p\x1b\x7f\xc2\x9b.ini:4: ' "$T/stderr"
    [[ $(LC_ALL=C grep -caP '[\x1b\x7f]|\xc2\x9b' "$T/stderr") == 0 ]]
    task $'echo \x7f \xc2\x9b caf\xc3\xa9'
    mv "$T/task.ini" "$name"
    "$VMRUN" --config "$name" --check >"$T/stdout"
    grep -F $'command = echo \\x7f \\xc2\\x9b caf\xc3\xa9' "$T/stdout"
    [[ $(LC_ALL=C grep -caP '[\x1b\x7f]|\xc2\x9b' "$T/stdout") == 0 ]]
}

@test "a line of ours is never longer than what a pipe takes at once" {
    status=0
    "$VMRUN" --set "$(printf '%05000d' 0)" --config "$T/none" 2>"$T/stderr" || status=$?
    [[ $status == 125 ]]
    task 'true'
    "$VMRUN" --config "$T/task.ini" --set "$(printf '%05000d' 0)" 2>"$T/stderr" || true
    [[ $(grep -c 'section.key' "$T/stderr") == 0 ]] # it is cut
    [[ $(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$T/stderr") == 4095 ]]
}

@test "--batch-member without the fd it writes to is refused" {
    task 'true'
    status=0
    "$VMRUN" --batch-member --config "$T/task.ini" 3>&- >"$T/stdout" 2>"$T/stderr" || status=$?
    refused 'needs an open fd 3'
}

@test "a missing required key is named" {
    printf '[task]\nname = t\n' >"$T/task.ini"
    run_task
    refused 'command'
}

@test "a missing config file, image and kernel are named" {
    run_task
    refused 'task\.ini'
    task 'true'
    sed -i 's/base\.erofs/none.erofs/' "$T/task.ini"
    run_task
    refused 'task\.ini:[0-9]+:.*image.*none\.erofs'
    task 'true'
    sed -i '/^\[machine\]/a kernel = /no/kernel' "$T/task.ini"
    run_task
    refused 'task\.ini:[0-9]+:.*kernel.*/no/kernel'
}

@test "a wrong digest is refused" {
    task 'true'
    sed -i "/^\[image\]/a sha256 = $(printf '%064d' 0)" "$T/task.ini"
    run_task
    refused 'sha256'
}

@test "an over-long line is an error, not a cut" {
    task "echo $(head -c 70000 /dev/zero | tr '\0' x)"
    run_task
    refused 'task\.ini:3:.*long'
}

# kernel_refused PATTERN: $T/kernel as the kernel is refused, with its file, line, key and PATTERN.
kernel_refused() {
    task 'true'
    sed -i "/^\[machine\]/a kernel = $T/kernel" "$T/task.ini"
    run_task
    refused "task\.ini:[0-9]+: \[machine\] kernel: $T/kernel: $1"
}

@test "garbage instead of a kernel is named" {
    head -c 100000 /dev/urandom >"$T/kernel"
    kernel_refused '.*ELF vmlinux or a bzImage'
    : >"$T/kernel"
    kernel_refused '.*ELF vmlinux or a bzImage'
    gzip -c build/guest/vmrun-agent >"$T/kernel"
    kernel_refused '.*gunzip'
}

@test "a truncated kernel is named" {
    head -c 2000000 build/kernel/vmlinux >"$T/kernel"
    kernel_refused 'it is truncated: .*copy or build it again'
    head -c 1024 build/kernel/vmlinux >"$T/kernel"
    kernel_refused 'it is truncated: .*copy or build it again'
}

@test "a kernel that says nothing ends at the boot limit, with registers" {
    kernel_that_begins_with 'ebfe' # an endless loop
    task 'true' '[limits]' 'boot = 2s'
    sed -i "/^\[machine\]/a kernel = $T/kernel" "$T/task.ini"
    run_task
    [[ $(result .limit) == boot ]]
    grep -qi 'rip' "$T/stderr"
}

@test "a kernel that triple-faults is a guest failure" {
    kernel_that_begins_with '0f0b' # an undefined instruction, with no handler for it yet
    task 'true'
    sed -i "/^\[machine\]/a kernel = $T/kernel" "$T/task.ini"
    run_task
    expect guest_failed 125
    grep -qi 'rip' "$T/stderr"
}

# image_refused PATTERN: $T/image as the image is refused, with its file, line, key and PATTERN.
image_refused() {
    task 'true'
    sed -i "s|^path = .*|path = $T/image|" "$T/task.ini"
    run_task
    refused "task\.ini:[0-9]+: \[image\] path: $T/image: $1"
}

@test "a garbage image is named" {
    head -c 1048576 /dev/urandom >"$T/image"
    image_refused '.*EROFS.*rootfs/build'
    : >"$T/image"
    image_refused '.*too short'
}

@test "a truncated image is named" {
    head -c 1048576 "$IMAGES/base.erofs" >"$T/image"
    image_refused '.*cut short.*copy or build it again'
}

@test "an image whose blocks are garbage is a guest failure" {
    cp "$IMAGES/base.erofs" "$T/image"
    dd if=/dev/urandom of="$T/image" bs=4096 seek=1 count=400 conv=notrunc 2>/dev/null
    task 'true' '[limits]' 'boot = 20s'
    sed -i "s|^path = .*|path = $T/image|" "$T/task.ini"
    run_task
    [[ $status == 125 || $status == 127 || $status == 126 ]]
    [[ $(result .status) == guest_failed || $(result .status) == start_failed ]]
}

@test "--console shows the kernel's last words when the guest dies" {
    task 'true'
    sed -i "/^\[machine\]/a initramfs = $T/initramfs" "$T/task.ini"
    printf 'not a cpio archive' >"$T/initramfs"
    run_task --console
    expect guest_failed 125
    grep -qi 'panic' "$T/stderr"
    grep -qi 'panic' "$T/out/console"
}

@test "an output folder that is in use is refused" {
    task 'true'
    mkdir "$T/out"
    echo mine >"$T/out/file"
    run_task
    [[ $status == 125 && $(cat "$T/out/file") == mine ]]
    grep -q 'out' "$T/stderr"
}
