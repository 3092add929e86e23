#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An image that is pinned by its digest: printed, checked, remembered, and refused when it differs.

load e2e.bash

# small_image: $T/small.erofs, a copy of what is quick to read, older than two seconds.
small_image() {
    mkdir -p "$T/root/"{dev,proc,run,sys,task,tmp}
    mkfs.erofs -d0 "$T/small.erofs" "$T/root" >/dev/null 2>&1
    export XDG_CACHE_HOME=$T/cache
    mkdir "$XDG_CACHE_HOME"
    sleep 2.1
}

# pinned DIGEST: a plan of a task with the small image and that digest.
pinned() {
    printf '%s\n' '[task]' 'command = /x' '[image]' 'path = small.erofs' "sha256 = $1" '[machine]' \
        "workdir = $T/disks" 'workdir_tmpfs = yes' >"$T/task.ini"
    status=0
    "$VMRUN" --config "$T/task.ini" --check >"$T/stdout" 2>"$T/stderr" || status=$?
}

@test "vmrun image verify prints what sha256sum prints, and keeps it for the user alone" {
    small_image
    "$VMRUN" image verify "$T/small.erofs" >"$T/stdout"
    diff "$T/stdout" <(sha256sum "$T/small.erofs")
    [[ $(stat -c %a "$XDG_CACHE_HOME/vmrun/digests") == 600 ]]
    [[ $("$VMRUN" image verify "$T/small.erofs" --json | jq -r .sha256) == "$(cut -d' ' -f1 "$T/stdout")" ]]
    printf 'no image' >"$T/other"
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
