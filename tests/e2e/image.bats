#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An image that is pinned by its digest: printed, checked, remembered, and refused when it differs.

load e2e.bash

# small_image: $T/small.erofs, a copy of what is quick to read, older than two seconds.
small_image() {
    mkdir -p "$T/root/"{dev,proc,run,sys,task,tmp}
    { head -c 20000 /dev/urandom && echo 'a mark to be damaged'; } >"$T/root/x"
    mkfs.erofs -d0 "$T/small.erofs" "$T/root" >/dev/null 2>&1
    export XDG_CACHE_HOME=$T/cache
    mkdir "$XDG_CACHE_HOME"
    sleep 2.1
}

# verity_image: small_image, and a copy that the kernel holds to its content, $T/m/small.erofs.
verity_image() {
    small_image
    [[ ${VMRUN_LAB:-} || $EUID == 0 ]] || skip "only root can mount a file system with fs-verity"
    truncate -s 16M "$T/disk"
    mkfs.ext4 -q -b 4096 -O verity "$T/disk"
    mkdir "$T/m"
    modprobe loop 2>/dev/null || true
    mount -o loop "$T/disk" "$T/m"
    cp "$T/small.erofs" "$T/m/"
    tests/e2e/verity.py enable "$T/m/small.erofs"
}

teardown() {
    ! mountpoint -q "$T/m" || umount "$T/m"
}

# pinned DIGEST [PATH]: a plan of a task with the small image and that digest.
pinned() {
    printf '%s\n' '[task]' 'command = /x' '[image]' "path = ${2:-small.erofs}" "sha256 = $1" '[machine]' \
        "workdir = $T/disks" 'workdir_tmpfs = yes' >"$T/task.ini"
    status=0
    "$VMRUN" --config "$T/task.ini" --check >"$T/stdout" 2>"$T/stderr" || status=$?
}

@test "vmrun image verify prints what sha256sum prints, and keeps it for the user alone" {
    small_image
    "$VMRUN" image verify "$T/small.erofs" >"$T/stdout"
    diff "$T/stdout" <(sha256sum "$T/small.erofs")
    [[ $(stat -c %a "$XDG_CACHE_HOME/vmrun/digests") == 600 ]]
    digest=$(cut -d' ' -f1 "$T/stdout")
    "$VMRUN" image verify "$T/small.erofs" --json >"$T/stdout"
    [[ $(jq -r .sha256 "$T/stdout") == "$digest" && $(jq .problem "$T/stdout") == null ]]
    keep_shown --json
    printf 'no image' >"$T/other"
    status=0
    "$VMRUN" image verify "$T/other" --json >"$T/stdout" 2>"$T/stderr" || status=$?
    [[ $status == 1 && $(jq -r .problem "$T/stdout") == 'it is too short'* ]]
    keep_shown --json
    status=0
    "$VMRUN" image verify "$T/other" >"$T/stdout" 2>"$T/stderr" || status=$?
    [[ $status == 1 ]] && grep -F "$T/other: it is too short" "$T/stderr"
}

@test "another digest is refused; a change is noticed though the digest was remembered" {
    small_image
    digest=$(sha256sum <"$T/small.erofs" | cut -d' ' -f1)
    pinned "$digest"
    [[ $status == 0 ]]
    pinned "${digest/[0-8]/9}"
    [[ $status == 125 ]] && grep -F 'another or a changed image' "$T/stderr"
    # With its size and mtime as they were.
    touch -r "$T/small.erofs" "$T/mtime"
    printf x | dd of="$T/small.erofs" bs=1 seek=4000 conv=notrunc status=none
    touch -r "$T/mtime" "$T/small.erofs"
    pinned "$digest"
    [[ $status == 125 ]] && grep -F 'another or a changed image' "$T/stderr"
}

@test "a digest is kept of a file that is old and nobody else's to write, and of no other" {
    small_image
    digest=$(sha256sum <"$T/small.erofs" | cut -d' ' -f1)
    cp "$T/small.erofs" "$T/young.erofs"
    "$VMRUN" image verify "$T/young.erofs"
    [[ ! -e $XDG_CACHE_HOME/vmrun ]]
    chmod g+w "$T/small.erofs"
    sleep 2.1
    pinned "$digest"
    [[ $status == 0 && ! -e $XDG_CACHE_HOME/vmrun ]]
    chmod g-w "$T/small.erofs"
    sleep 2.1
    pinned "$digest"
    [[ $status == 0 && $(grep -c "$digest" "$XDG_CACHE_HOME/vmrun/digests") == 1 ]]
    # What is wrong in there is not believed.
    sed -i "s/$digest/${digest/[0-8]/9}/" "$XDG_CACHE_HOME/vmrun/digests"
    pinned "$digest"
    [[ $status == 0 && $(grep -c "$digest" "$XDG_CACHE_HOME/vmrun/digests") == 1 ]]
}

@test "a digest of fs-verity says alone what a file is: it is remembered, and the file not read again" {
    verity_image
    digest=$(sha256sum <"$T/small.erofs" | cut -d' ' -f1)
    verity=$(tests/e2e/verity.py digest "$T/small.erofs")
    "$VMRUN" image verify --json "$T/m/small.erofs" >"$T/stdout"
    [[ $(jq -r '.sha256 + " " + .verity_sha256' "$T/stdout") == "$digest $verity" ]]
    [[ $(grep -c " $verity $digest\$" "$XDG_CACHE_HOME/vmrun/digests") == 1 ]]
    # Young, and for everyone to write, if anyone could; another inode after that.
    chmod 666 "$T/m/small.erofs"
    lie=${digest/[0-8]/9}
    sed -i "s/$digest/$lie/" "$XDG_CACHE_HOME/vmrun/digests"
    pinned "$lie" m/small.erofs
    [[ $status == 0 ]]
    cp "$T/small.erofs" "$T/m/other.erofs"
    pinned "$lie" m/other.erofs
    [[ $status == 125 ]]
    tests/e2e/verity.py enable "$T/m/other.erofs"
    pinned "$lie" m/other.erofs
    [[ $status == 0 ]]
    # What is recalled and does not fit is looked at again.
    pinned "$digest" m/small.erofs
    [[ $status == 0 ]]
    pinned "$lie" m/other.erofs
    [[ $status == 125 ]] && grep -F 'another or a changed image' "$T/stderr"
}

@test "what fs-verity holds cannot be written, what is damaged below it cannot be read, another is refused" {
    verity_image
    digest=$(sha256sum <"$T/small.erofs" | cut -d' ' -f1)
    printf x >>"$T/m/small.erofs" && return 1
    dd if=/dev/zero of="$T/m/small.erofs" bs=1 count=1 conv=notrunc && return 1
    cp "$T/small.erofs" "$T/m/other.erofs"
    printf x | dd of="$T/m/other.erofs" bs=1 seek=6000 conv=notrunc status=none
    tests/e2e/verity.py enable "$T/m/other.erofs"
    pinned "$digest" m/other.erofs
    [[ $status == 125 ]] && grep -F 'another or a changed image' "$T/stderr"
    # A block of the file, where the disk has it.
    umount "$T/m"
    at=$(grep -obUaF 'a mark to be damaged' "$T/disk" | head -n 1 | cut -d: -f1)
    printf '\377\377' | dd of="$T/disk" bs=1 seek="$at" conv=notrunc status=none
    mount -o loop "$T/disk" "$T/m"
    status=0
    "$VMRUN" image verify "$T/m/small.erofs" >"$T/stdout" 2>"$T/stderr" || status=$?
    [[ $status == 1 ]] && grep -F "$T/m/small.erofs: cannot read it" "$T/stderr"
}
