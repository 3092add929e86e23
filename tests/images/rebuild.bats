#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same packages give the same image; and what the builder does when something is wrong.

load helpers

setup_file() {
    need_images
    cc -Wall -Wextra -Werror -shared -fPIC -O2 -o "$BATS_FILE_TMPDIR/clock_shift.so" \
        "$BATS_TEST_DIRNAME/clock_shift.c"
    # An image of one's own, small enough to be built several times.
    mkdir -p "$BATS_FILE_TMPDIR/tiny/files/etc"
    printf 'package dash coreutils libc-bin\n%s\n%s\n' 'leave-out debianutils not needed here' \
        'leave-out dpkg not needed here' >"$BATS_FILE_TMPDIR/tiny/recipe"
    echo 'first' >"$BATS_FILE_TMPDIR/tiny/files/etc/greeting"
    # Its packages are some of base's; so it needs no network.
    cp -r "$IMAGES/debs" "$BATS_FILE_TMPDIR/debs"
}

setup() {
    out=$BATS_TEST_TMPDIR/out
    tiny=$BATS_FILE_TMPDIR/tiny
}

@test "data, built again in another folder, mask, zone, language and day, has the same digest" {
    # A copy of the builder too: neither its place nor its files' dates may matter.
    cp -r "$TREE_ROOT/rootfs" "$BATS_TEST_TMPDIR/a copy"
    (
        umask 0077
        cd "$BATS_TEST_TMPDIR"
        env -i PATH="$PATH" TZ=Pacific/Kiritimati LANG=tr_TR.UTF-8 HOME=/nonexistent \
            SOURCE_DATE_EPOCH=1 LD_PRELOAD="$BATS_FILE_TMPDIR/clock_shift.so" \
            timeout 300 "$BATS_TEST_TMPDIR/a copy/build" --offline --debs "$IMAGES/debs" data "$out"
    )
    [ "$(sha256_of "$out/data.erofs")" = "$(sha256_of "$IMAGES/data.erofs")" ]
    [ "$(jq -c .packages "$out/data.json")" = "$(jq -c .packages "$IMAGES/data.json")" ]
}

@test "the shifted clock of the test above really is shifted" {
    local shifted
    shifted=$(LD_PRELOAD=$BATS_FILE_TMPDIR/clock_shift.so date +%s)
    ((shifted - $(date +%s) > 399 * 86400))
}

@test "base, built on another file system, has the same digest" {
    [[ -w /dev/shm ]] || skip "no tmpfs at /dev/shm"
    out=$(mktemp -d /dev/shm/vmrun-images-XXXXXX)
    rebuild base "$out" || {
        rm -rf "$out"
        return 1
    }
    local digest
    digest=$(sha256_of "$out/base.erofs")
    rm -rf "$out"
    [ "$digest" = "$(sha256_of "$IMAGES/base.erofs")" ]
}

@test "root and an ordinary user build the same image" {
    ((EUID == 0)) || skip "only root can become another user; the tests above ran as a user"
    mkdir -p "$out"
    chown 65534:65534 "$out"
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
    as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    as_user test -x "$BUILD" -a -r "$IMAGES/debs/data.list" -a -w "$out" ||
        skip "another user cannot read the working tree"
    as_user timeout 300 "$BUILD" --offline --debs "$IMAGES/debs" data "$out"
    [ "$(stat -c %u "$out/data.erofs")" = 65534 ]
    [ "$(sha256_of "$out/data.erofs")" = "$(sha256_of "$IMAGES/data.erofs")" ]
}

tiny_needs='coreutils|dash|libc-bin|libc6|libacl1|libattr1|libgcc-s1|libgmp10'
tiny_needs+='|libpcre2-8-0|libselinux1'

# The request line of the package list, as the builder would write it for the tiny recipe.
write_tiny_list() {
    {
        printf '# for %s\n' "$(printf 'coreutils dash libc-bin -- debianutils dpkg' | sha256sum |
            cut -d' ' -f1)"
        grep -E " ($tiny_needs)_" "$IMAGES/debs/base.list"
    } >"$BATS_FILE_TMPDIR/debs/tiny.list"
}

build_tiny() {
    write_tiny_list
    run timeout 120 "$BUILD" --offline --debs "$BATS_FILE_TMPDIR/debs" "$@" "$tiny" "$out"
    echo "$output"
}

@test "a recipe of one's own: built, its file is in, a change of the file changes the digest" {
    build_tiny
    [ "$status" = 0 ]
    local before
    before=$(sha256_of "$out/tiny.erofs")
    fsck.erofs --extract="$BATS_TEST_TMPDIR/tree" "$out/tiny.erofs" >/dev/null
    [ "$(cat "$BATS_TEST_TMPDIR/tree/etc/greeting")" = first ]

    build_tiny
    [ "$output" = "image tiny: is up to date" ]

    echo 'second' >"$tiny/files/etc/greeting"
    build_tiny
    [ "$status" = 0 ]
    [ "$(sha256_of "$out/tiny.erofs")" != "$before" ]
}

@test "a damaged image is built again" {
    build_tiny
    local before
    before=$(sha256_of "$out/tiny.erofs")
    printf x | dd of="$out/tiny.erofs" bs=1 seek=5000 conv=notrunc status=none
    build_tiny
    [ "$status" = 0 ]
    [ "$(sha256_of "$out/tiny.erofs")" = "$before" ]
}

@test "a package that was changed on disk is refused, and the old image stays" {
    build_tiny
    local before deb
    before=$(sha256_of "$out/tiny.erofs")
    deb=$(echo "$BATS_FILE_TMPDIR"/debs/dash_*.deb)
    printf x | dd of="$deb" bs=1 seek=2000 conv=notrunc status=none
    build_tiny --force
    cp "$IMAGES/debs/${deb##*/}" "$deb"
    [ "$status" = 1 ]
    [[ $output == *"${deb##*/} has SHA-256"*"remove the file and build again"* ]]
    [ "$(sha256_of "$out/tiny.erofs")" = "$before" ]
}

@test "a hook that fails ends the build, leaves the old image and no work folder" {
    build_tiny
    local before
    before=$(sha256_of "$out/tiny.erofs")
    printf '#!/bin/sh\nexit 3\n' >"$tiny/fail"
    chmod +x "$tiny/fail"
    cp "$tiny/recipe" "$BATS_TEST_TMPDIR/recipe"
    echo 'hook fail' >>"$tiny/recipe"
    build_tiny
    cp "$BATS_TEST_TMPDIR/recipe" "$tiny/recipe"
    [ "$status" = 1 ]
    [[ $output == *"fail failed with status 3; see $out/tiny.log"* ]]
    [ "$(sha256_of "$out/tiny.erofs")" = "$before" ]
    [ -z "$(find "$out" -name '*.work' -o -name '*.new')" ]
}

@test "an offline build without packages says what to do" {
    run "$BUILD" --offline base "$out"
    [ "$status" = 1 ]
    [[ $output == *"base.list is missing"*"build once without --offline"* ]]
}

@test "an offline build refuses packages of another recipe" {
    write_tiny_list
    sed -i 's/dash/dash bash/' "$tiny/recipe"
    run "$BUILD" --offline --debs "$BATS_FILE_TMPDIR/debs" "$tiny" "$out"
    sed -i 's/dash bash/dash/' "$tiny/recipe"
    [ "$status" = 1 ]
    [[ $output == *"tiny.list answers other"* ]]
}

@test "mistakes in a recipe are named with file and line" {
    local wrong=$BATS_TEST_TMPDIR/wrong
    mkdir "$wrong"
    for line in 'prune /usr/share/doc/*' 'prune usr/x because' 'packages dash' 'link /a' \
        'leave-out dpkg' 'hook absent' 'from'; do
        printf 'package dash\n%s\n' "$line" >"$wrong/recipe"
        run "$BUILD" --offline "$wrong" "$out"
        [ "$status" = 1 ]
        [[ $output == *"$wrong/recipe:2: "* ]] || {
            echo "$line: $output" >&2
            return 1
        }
    done
    run "$BUILD" --offline no-such "$out"
    [[ $output == *"there are: base data"* ]]
}
