# SPDX-License-Identifier: Apache-2.0
# Loaded by every file here: boots the villain (tests/guest/) in place of Linux. VMRUN_BIN names other
# executables than build/bin, for example those of `make asan`.

VMRUN=$PWD/${VMRUN_BIN:-build/bin}/vmrun
VILLAIN=$PWD/build/villain/vmlinux

setup_file() {
    make_image
}

make_image() {
    mkdir "$BATS_FILE_TMPDIR/files"
    head -c 65536 /dev/zero | tr '\0' i >"$BATS_FILE_TMPDIR/files/file"
    mkfs.erofs "$BATS_FILE_TMPDIR/image" "$BATS_FILE_TMPDIR/files" >/dev/null
}

setup() {
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/disks"
    image=$BATS_FILE_TMPDIR/image
    image_digest=$(sha256sum <"$image")
}

# villain WORDS [OPTIONS]: run the villain with WORDS; $status, $T/{stdout,stderr}, $T/out. What it
# says on the console is in $console.
villain() {
    local words=$1
    shift
    rm -rf "$T/out"
    printf '%s\n' "$words" >"$T/words"
    {
        printf '[task]\nname = villain\ncommand = none\n'
        printf '[image]\npath = %s\n' "$image"
        printf '[machine]\nkernel = %s\ninitramfs = %s\n' "$VILLAIN" "$T/words"
        printf 'memory = 64M\nworkdir = %s\nworkdir_tmpfs = yes\n' "$T/disks"
        printf '[output]\ndir = out\n[limits]\ndisk = 16M\nboot = 400s\n'
    } >"$T/task.ini"
    status=0
    VMRUN_CHILD_STDERR=1 timeout 500 "$VMRUN" --config "$T/task.ini" --console "$@" \
        >"$T/stdout" 2>"$T/stderr" || status=$?
    console=$T/out/console
    mkdir -p build/results/e2e # for tests/docs
    cp "$T/out/result.json" "build/results/e2e/villain-${words%% *}.json" 2>/dev/null || true
    no_host_effect
}

# What must be so after every run, however it ended.
no_host_effect() {
    [[ -f $T/out/result.json ]] || fail "no result"
    [[ $(sha256sum <"$image") == "$image_digest" ]] || fail "the image has changed"
    [[ -z $(ls -A "$T/disks") ]] || fail "a disk was left behind"
    ! grep -qE 'Sanitizer|runtime error|vmm/.*: must' "$T/stderr" || fail "a sanitizer or must() spoke"
    [[ $(result .status) != infra ]] || fail "the host is blamed"
    [[ $(result '.host_measured.monitor_peak_rss_bytes < 100000000') == true || ${VMRUN_BIN:-} ]] ||
        fail "the monitor grew"
}

fail() {
    echo "$1"
    cat "$T/stderr"
    jq -c '{status, exit_code, limit, reason, host_measured}' "$T/out/result.json"
    return 1
}

result() {
    jq -r "$1" "$T/out/result.json"
}

# cases AT_LEAST: the villain ran all of its cases, that many, and each had the right answer; then it
# was a good guest, and the run is ok.
cases() {
    local planned passed
    planned=$(sed -nE 's/^1\.\.([0-9]+).*$/\1/p' "$console")
    passed=$(grep -cE '^ok [0-9]+ - ' "$console") || true
    if [[ -z $planned || $passed != "$planned" ]] || ((passed < $1)); then
        echo "$passed of ${planned:-?} cases passed, at least $1 were to"
        grep -vE '^ok ' "$console"
        fail "see above"
    fi
    [[ $status == 0 && $(result .status) == ok && $(cat "$T/out/stdout") == served ]] ||
        fail "the run after the cases"
}
