#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest that was taken over writes what it likes to the export disk: each time a verdict with the rule
# that was broken, nothing published, nothing left behind. Most cases go to the extractor itself, some come
# from a guest, whose agent is tests/guest-agents/raw_export.c.

load e2e.bash
load artifacts/artifacts.bash

cases() {
    python3 -B tests/e2e/artifacts/hostile.py "$@"
}

# hostile CASE [LINE...]: run a guest that exports CASE of artifacts/hostile.py.
hostile() {
    local name=$1
    shift
    rm -rf "$T/out"
    cases "$name" >"$T/raw"
    task 'true' '[limits]' 'boot = 60s' '[input]' "raw = $T/raw" '[artifacts]' 'collect = out' "$@"
    run_task --set "machine.initramfs=$PWD/build/e2e/raw-export.cpio"
}

# refused CASE RULE: nothing came out, and the rule that was broken is named.
refused() {
    hostile "$1"
    expect artifacts_failed 125
    [[ $(result .artifacts.status) == refused ]]
    if [[ $(result .artifacts.reason) != *"$2"* ]]; then
        echo "$1: $(result .artifacts.reason)"
        return 1
    fi
    expect_manifest <<<"refused 0 0 0 $(result .artifacts.reason)"
    [[ $(ls -A "$T/out/artifacts" | wc -l) == 0 ]]
    [[ $(ls -A "$T/out" | tr '\n' ' ') == "artifacts manifest.json result.json stderr stdout " ]]
    [[ ! -e $T/escape && ! -e /tmp/escape ]]
}

@test "every hostile archive gets its verdict from the extractor, and leaves what it should" {
    count=$(cases --all build/bin/vmrun-extractor "$T")
    ((count >= 35))
    [[ ! -e /tmp/escape ]]
}

@test "the extractor keeps its private memory below 8 MiB, whatever the archive says" {
    figures=$(python3 -B tests/e2e/artifacts/extractor_memory.py build/bin/vmrun-extractor "$T")
    read -r peak entries verdict <<<"$figures"
    echo "$peak KiB at most, $entries entries, status $verdict"
    ((peak > 1024 && peak < 8192 && entries == 65536 && verdict == 2))
}

@test "from a guest: noise, half an archive, a file that nobody asked for: refused" {
    refused noise 'does not begin with an archive'
    refused half 'record 6: archive record of kind 0'
    refused not-asked-for 'the archive holds "etc", which was not asked for'
}

@test "from a guest: of two archives the first counts" {
    hostile two
    expect ok 0
    expect_manifest <<'END'
d out 0755
f out/good 0644 4 text
complete 1 4 0
END
    check_files
}

@test "from a guest: a million entries: max_files of them come out, the rest is counted" {
    hostile million 'max_files = 1000' 'max_total = 64M'
    expect ok 0
    check_files
    [[ $(result .artifacts.status) == partial ]]
    [[ $(jq '.entries | length' "$T/out/manifest.json") == 1000 ]]
    [[ $(jq '.skipped | length' "$T/out/manifest.json") == 1000 ]]
    [[ $(result .artifacts.reason) == *'more than 262144 names'* ]]
}
