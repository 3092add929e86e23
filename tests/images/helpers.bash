# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of the dependency images. VMRUN_IMAGES names the folder of the built ones.

TREE_ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
IMAGES=${VMRUN_IMAGES:-$TREE_ROOT/build/images}
BUILD=$TREE_ROOT/rootfs/build

need_images() {
    local name
    for name in base data; do
        [[ -f $IMAGES/$name.erofs && -f $IMAGES/$name.json ]] || {
            echo "no $IMAGES/$name.erofs; build it with: rootfs/build $name $IMAGES" >&2
            return 1
        }
    done
}

sha256_of() {
    sha256sum "$1" | cut -d' ' -f1
}

manifest() { # NAME JQ-FILTER
    jq -r "$2" "$IMAGES/$1.json"
}

# A later build of an image from the same packages, into another folder.
rebuild() { # NAME OUTDIR
    timeout 300 "$BUILD" --offline --debs "$IMAGES/debs" "$1" "$2"
}

extract() { # IMAGE FOLDER
    fsck.erofs --extract="$2" "$1" >/dev/null
    if ((EUID != 0)); then
        chmod -R a-w "$2"
    fi
}

# Runs a command in an extracted image the way a task runs: user 1000, nothing writable, nothing
# mounted, an empty environment. fd 0 is a pipe, since the tree has no /dev.
in_tree() { # TREE COMMAND...
    local tree=$1
    shift
    if ((EUID == 0)); then
        chroot --userspec=1000:1000 --groups= "$tree" /usr/bin/env -i PATH=/usr/bin:/bin "$@"
    else
        unshare --user --map-user=1000 --map-group=1000 --root="$tree" \
            /usr/bin/env -i PATH=/usr/bin:/bin "$@"
    fi </dev/null
}

need_tree_runs() {
    in_tree "$1" true 2>/dev/null ||
        skip "cannot enter a tree here: needs root or unprivileged user namespaces"
}
